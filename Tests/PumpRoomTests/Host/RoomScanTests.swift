import Conversion
import Foundation
import TestSupport
import Testing

@testable import PumpRoom
@testable import RoomProgram

/// Scans in a room, and rooms that lie about them.
@Suite(.timeLimit(.minutes(15))) struct RoomScanTests {
    let lying: LyingBench
    private var bench: SlotBench { lying.bench }
    private static let wishes: ProbeOptions = {
        var wishes = ProbeOptions(
            nameHint: "clip.wav",
            scans: true,
            measuresLoudness: true,
            outlinesSound: true,
            digestsSound: true
        )
        wishes.surveysLevels = true
        return wishes
    }()

    init() throws { lying = try LyingBench() }

    private func honest() throws -> SourceReport {
        let file = try OpenFile.reading(bench.clip)
        let probe = SourceProbe(nameHint: "clip.wav")
        return try probe.describe(
            file.descriptor,
            scanning: true,
            measuring: true,
            outlining: true,
            surveying: true,
            digesting: true
        )
    }

    @Test func roomScansWithinItsLock() async throws {
        let slot = bench.slot { $0.sandbox = .require }
        let file = try OpenFile.reading(bench.clip)
        guard case .done(let report, _) = await slot.describe(file.descriptor, Self.wishes) else {
            Issue.record("it was not scanned")
            return
        }
        let here = try honest()
        #expect(report == here)
        #expect(report.scan?.sound?.form == "s16le" && report.scan?.frames == 4_000 && report.loudness != nil)
        #expect(report.outline?.lowest.isEmpty == false && report.levels?.rmsDBFS != nil)
        await slot.close()
    }

    @Test func descriptionHasNoDigestUnlessItIsWanted() async throws {
        let slot = bench.slot()
        let file = try OpenFile.reading(bench.clip)
        guard case .done(let report, _) = await slot.describe(file.descriptor, .init(scans: true)) else {
            Issue.record("it was not scanned")
            return
        }
        #expect(report.scan != nil && report.scan?.sound == nil)
        await slot.close()
    }

    enum Lie: CaseIterable {
        case none, shortDigest, upperCase, longForm, escapeInForm, noRate, tooManyFrames, placeBeyondAnySource
        case negativePlace, tooManyPlaces, unknownCode, fewerPlacesThanListed, loudnessInTheScan, noScan
        case tooLongAtItsRate, tooManyLostFrames, decoderWithoutDamage, damageWithoutDecoder, codeOfTheLedger
        case noLoudness, loudnessUnasked
        case noOutline, outlineUnasked, unevenOutline, reversedOutline, loudOutline, hugeSample, longOutline
        case endlessOutline
        case noLevels, levelsUnasked, hugeLevel, timeBeforeTheStart, timeBehindAnySource, noTime
        case oneBitRate, fallingBitRates, hugeDecodedRate, negativeDecodedCount, endlessSound
    }

    private func report(_ lie: Lie) throws -> SourceReport {
        var report = try honest()
        let place = DamageReport.Stretch(start: 5, frames: 2, code: FailureCode.corruptStream.rawValue)
        func damaged(_ change: (inout DamageReport.Stretch) -> Void) -> DamageReport {
            var place = place
            change(&place)
            return DamageReport(frames: 2, stretchCount: 1, stretches: [place])
        }
        // What an honest room says of a damaged file, which each lie changes.
        report.scan?.damage = damaged { _ in }
        report.scan?.sound?.decoder = "libavcodec 59.37.100"
        switch lie {
        case .none: break
        case .shortDigest: report.scan?.sound?.sha256 = "00ff"
        case .upperCase: report.scan?.sound?.sha256 = String(repeating: "FF", count: 32)
        case .longForm: report.scan?.sound?.form = String(repeating: "s", count: 300)
        case .escapeInForm: report.scan?.sound?.form = "\u{1B}[31m"
        case .noRate: report.scan?.sound?.sampleRateHz = 0
        case .tooManyFrames: report.scan?.frames = 1 << 49
        case .placeBeyondAnySource: report.scan?.damage = damaged { $0.start = 1 << 49 }
        case .negativePlace: report.scan?.damage = damaged { $0.start = -1 }
        case .tooManyPlaces:
            let places = [DamageReport.Stretch](repeating: place, count: 101)
            report.scan?.damage = DamageReport(frames: 202, stretchCount: 101, stretches: places)
        case .unknownCode: report.scan?.damage = damaged { $0.code = "all_is_well" }
        case .fewerPlacesThanListed: report.scan?.damage.stretches = [place, place]
        case .loudnessInTheScan: report.scan?.loudness = LoudnessReport()
        case .noScan: report.scan = nil
        case .tooLongAtItsRate:
            report.scan?.frames = 1 << 27
            report.scan?.sound?.sampleRateHz = 1
        case .tooManyLostFrames: report.scan?.damage.frames = 1 << 40
        case .decoderWithoutDamage: report.scan?.damage = DamageReport()
        case .damageWithoutDecoder: report.scan?.sound?.decoder = nil
        case .codeOfTheLedger: report.scan?.damage = damaged { $0.code = FailureCode.bitRot.rawValue }
        case .noLoudness: report.loudness = nil
        case .noOutline: report.outline = nil
        case .unevenOutline: report.outline?.momentaryLUFS.append(-20)
        case .reversedOutline: report.outline?.lowest[0] = 2
        case .loudOutline: report.outline?.momentaryLUFS[0] = 1e9
        case .hugeSample: report.outline?.highest[0] = 1_001
        case .longOutline:
            let many = SoundOutline.mostParts + 1
            report.outline = SoundOutline(
                lowest: Array(repeating: 0, count: many),
                highest: Array(repeating: 0, count: many),
                momentaryLUFS: Array(repeating: nil, count: many)
            )
        case .endlessOutline: report.outline?.secondsPerPart = 1e300
        case .noLevels: report.levels = nil
        case .hugeLevel: report.levels?.rmsDBFS = 1e9
        case .timeBeforeTheStart: report.levels?.peakAt = MediaTime(value: -1, timescale: 1)
        case .timeBehindAnySource: report.levels?.toneAtStart = MediaTime(value: 1 << 40, timescale: 1)
        case .noTime: report.levels?.toneAtEnd = .indefinite
        case .oneBitRate: report.tracks[0].lowestBitRate = 128_000
        case .fallingBitRates: (report.tracks[0].lowestBitRate, report.tracks[0].highestBitRate) = (192_000, 128_000)
        case .hugeDecodedRate: report.tracks[0].decodedSampleRatesHz = 8_000...(1 << 40)
        case .negativeDecodedCount: report.tracks[0].decodedChannelCounts = -1...2
        case .endlessSound: report.levels?.length = MediaTime(value: 1 << 40, timescale: 1)
        case .loudnessUnasked, .outlineUnasked, .levelsUnasked: break
        }
        return report
    }

    @Test(arguments: Lie.allCases) func lieAboutAScanEndsTheRoom(lie: Lie) async throws {
        let spent = WireCost(cpuMicroseconds: 1, peakBytes: 4_096)
        let answer = String(
            decoding: try WireCoder().bytes(RoomReply.described(job: 0, try report(lie), spent)),
            as: UTF8.self
        )
        let slot = try lying.slot(
            """
            hello()
            job = hear()["probe"]["job"]
            say({"begun": {"job": job, "spent": spent}})
            answer = json.loads(r'''\(answer)''')
            answer["described"]["job"] = job
            say(answer)
            hear()
            """
        ) { $0.obedienceLimit = .milliseconds(500) }
        let file = try OpenFile.reading(bench.clip)
        var wishes = Self.wishes
        wishes.measuresLoudness = lie != .loudnessUnasked
        wishes.outlinesSound = lie != .outlineUnasked
        wishes.surveysLevels = lie != .levelsUnasked
        wishes.limits = Recipe.Limits(decodedSeconds: 3_600, expansionRatio: 10)
        switch await slot.describe(file.descriptor, wishes) {
        case .done: #expect(lie == .none)
        case .failed(let failure): #expect(lie != .none && failure.failure.code == "room_protocol")
        case .handedBack: Issue.record("it was handed back")
        }
        await slot.close()
    }

    @Test func roomCannotReportWhatOnlyTheLedgerConcludes() async throws {
        let slot = try lying.slot("hello()\nfail(begin(), '\(FailureCode.bitRot.rawValue)')\nhear()") {
            $0.obedienceLimit = .milliseconds(500)
        }
        let failure = try #require(await SlotRun(try bench.short(), in: slot).failure)
        #expect(failure.failure.code == "room_protocol")
        await slot.close()
    }
}
