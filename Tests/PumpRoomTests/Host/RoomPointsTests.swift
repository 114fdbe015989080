import Conversion
import Foundation
import TestSupport
import Testing

@testable import PumpRoom
@testable import RoomProgram

/// Points of a source by a room, and rooms that lie about them.
@Suite(.timeLimit(.minutes(15))) struct RoomPointsTests {
    let lying: LyingBench
    private var bench: SlotBench { lying.bench }
    private static let wishes = ProbeOptions(nameHint: "clip.wav", points: PointRules())

    init() throws { lying = try LyingBench() }

    /// A file with more points than fit into one message: two seconds with a clipped run in each millisecond.
    private func crowded() throws -> String {
        let period: [Double] = [1, 1, 1, 0.03, 0.04, 0.05, 0.06, 0.07]
        let samples = (0..<16_000).map { period[$0 % period.count] }
        let path = bench.folder.path("crowded.wav")
        try WAVFile.write(Signal(rate: 8_000, channels: [samples]).pcm(.s16), to: path)
        return path
    }

    private static let rules: PointRules = {
        var rules = PointRules()
        rules.clippedGap = .zero
        return rules
    }()

    @Test func roomReportsMorePointsThanAMessageHolds() async throws {
        let slot = bench.slot { $0.sandbox = .require }
        let file = try OpenFile.reading(try crowded())
        guard case .done(let report, _) = await slot.describe(file.descriptor, .init(points: Self.rules)) else {
            Issue.record("it has no points")
            return
        }
        let points = try #require(report.points)
        let clipped = points.points.filter { $0.kind == .clipping }
        #expect(clipped.count == 2_000)
        #expect(points.points.count > 10 * Bound.points)
        #expect(clipped.map(\.frame) == Array(stride(from: Int64(0), to: 16_000, by: 8)))
        let here = try SourceProbe(nameHint: nil).describe(file.descriptor, marking: Self.rules)
        #expect(report == here)
        await slot.close()
    }

    @Test func descriptionHasNoPointsUnlessTheyAreWanted() async throws {
        let slot = bench.slot()
        let file = try OpenFile.reading(bench.clip)
        guard case .done(let report, _) = await slot.describe(file.descriptor, .init(scans: true)) else {
            Issue.record("it was not scanned")
            return
        }
        #expect(report.points == nil)
        await slot.close()
    }

    enum Lie: CaseIterable {
        case none, noPoints, unasked, emptyList, tooManyInAMessage, beyondTheEnd, endsBeyondTheEnd, negative, outOfOrder
        case longText, escapeInText, channelZero, manyChannels, unknownKind, hugeValue, listedTwice, impossibleCount
        case unknownCount, fewFound, noRate, longerThanAnySource
    }

    private func messages(_ lie: Lie) throws -> [RoomReply] {
        let file = try OpenFile.reading(bench.clip)
        var report = try SourceProbe(nameHint: "clip.wav").describe(file.descriptor, marking: PointRules())
        var points = [
            SourcePoint(.cue, at: 10, text: "One"), SourcePoint(.clipping, at: 20, frames: 30, channels: [1], value: 3),
        ]
        let end = report.points?.frames ?? 0
        report.points?.points = []
        switch lie {
        case .none, .unasked, .unknownKind: break
        case .noPoints: report.points = nil
        case .emptyList: points = []
        case .tooManyInAMessage: points = [SourcePoint](repeating: points[0], count: Bound.points + 1)
        case .beyondTheEnd: points[1] = SourcePoint(.cue, at: end + 1)
        case .endsBeyondTheEnd: points[1].frames = end
        case .negative: points[0].frame = -1
        case .outOfOrder: points.swapAt(0, 1)
        case .longText: points[0].text = String(repeating: "a", count: 201)
        case .escapeInText: points[0].text = "\u{1B}[31m"
        case .channelZero: points[1].channels = [0]
        case .manyChannels: points[1].channels = [Int](repeating: 1, count: 65)
        case .hugeValue: points[1].value = 1e300
        case .listedTwice: report.points?.points = points
        case .impossibleCount: report.points?.outside = -1
        case .unknownCount: report.points?.found = ["miracle": 5_000]
        case .fewFound: report.points?.found = ["cue": 1]
        case .noRate: report.points?.sampleRateHz = 0
        case .longerThanAnySource: report.points?.frames = 1 << 40
        }
        let spent = WireCost(cpuMicroseconds: 1, peakBytes: 4_096)
        return [.pointed(job: 0, points), .described(job: 0, report, spent)]
    }

    @Test(arguments: Lie.allCases) func lieAboutPointsEndsTheRoom(lie: Lie) async throws {
        let lines = try messages(lie).map { reply in
            let text = String(decoding: try WireCoder().bytes(reply), as: UTF8.self)
            return lie == .unknownKind ? text.replacingOccurrences(of: "\"cue\"", with: "\"miracle\"") : text
        }
        let slot = try lying.slot(
            """
            hello()
            job = hear()["probe"]["job"]
            say({"begun": {"job": job, "spent": spent}})
            for line in (r'''\(lines[0])''', r'''\(lines[1])'''):
                answer = json.loads(line)
                answer[next(iter(answer))]["job"] = job
                say(answer)
            hear()
            """
        ) { $0.obedienceLimit = .milliseconds(500) }
        let file = try OpenFile.reading(bench.clip)
        var wishes = Self.wishes
        if lie == .unasked { wishes.points = nil }
        wishes.limits = Recipe.Limits(decodedSeconds: 3_600, expansionRatio: 10)
        switch await slot.describe(file.descriptor, wishes) {
        case .done(let report, _):
            #expect(lie == .none)
            #expect(report.points?.points.map(\.kind) == [.cue, .clipping])
        case .failed(let failure): #expect(lie != .none && failure.failure.code == "room_protocol")
        case .handedBack: Issue.record("it was handed back")
        }
        await slot.close()
    }
}
