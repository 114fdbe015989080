import Conversion
import TestSupport
import Testing

@testable import Media

/// The limit on the silence that may replace sound promised by a header.
@Suite struct ConcealLimitTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private static let rate = 8_000

    /// Converts a WAV with `seconds` of sound whose header promises `promised` seconds.
    private func convert(
        _ seconds: Int,
        promising promised: Int,
        _ damage: DamageMode = .conceal,
        limit: Int? = nil
    ) throws -> Converter.Outcome {
        let sound = Signal.noise(seed: 2, rate: Self.rate, frames: Self.rate * seconds).pcm(.s16)
        let size = UInt32(promised * Self.rate * 2)
        try WAVFile.write(sound, to: folder.path("a.wav"), options: .init(claimedDataSize: size))
        let source = try OpenFile.reading(folder.path("a.wav"))
        let output = try OpenFile.creating(folder.path("out.wav"))
        var request = Converter.Request(format: AudioFormat(container: .wav), damage: damage)
        request.concealSeconds = limit
        return try Converter(request).run(from: source.descriptor, to: output.descriptor)
    }

    private func code(_ body: () throws -> Converter.Outcome) -> FailureCode? {
        Converted.code { _ = try body() }
    }

    @Test func tenMinutesMayAlwaysBeMissing() throws {
        let outcome = try convert(1, promising: 601)
        #expect(outcome.summary.writtenFrames == Int64(601 * Self.rate))
        #expect(outcome.damage.frames == Int64(600 * Self.rate))
        #expect(code { try convert(1, promising: 602) } == .implausibleLength)
    }

    @Test func fourTimesTheSoundMayBeMissing() throws {
        #expect(try convert(200, promising: 1_000).damage.frames == Int64(800 * Self.rate))
        #expect(code { try convert(200, promising: 1_001) } == .implausibleLength)
    }

    /// A header that claims 37 hours: none of the silence is written.
    @Test func refusalComesBeforeTheSilence() throws {
        let error = #expect(throws: MediaError.self) { try convert(1, promising: 37 * 3_600) }
        #expect(error?.code == .implausibleLength && error?.stage == .decode)
        #expect(error?.frame == Int64(Self.rate))
        #expect(error?.hint?.contains("--conceal-limit") == true && error?.hint?.contains("--on-damage skip") == true)
        #expect(try Bytes.size(of: folder.path("out.wav")) < 3 * 2 * Self.rate)
    }

    @Test func limitOfTheCallerCounts() throws {
        #expect(try convert(1, promising: 3_601, limit: 3_600).damage.frames == Int64(3_600 * Self.rate))
        #expect(code { try convert(1, promising: 32, limit: 30) } == .implausibleLength)
    }

    @Test func nothingElseIsLimited() throws {
        #expect(try convert(1, promising: 37 * 3_600, .skip).summary.writtenFrames == Int64(Self.rate))
        #expect(code { try convert(1, promising: 37 * 3_600, .strict) } == .truncated)
    }

    /// Sound after a hole counts towards the limit as well.
    @Test func soundBehindAHoleCounts() throws {
        let sample = try SampleFile.of(.oggOpusShortPages)
        let packets = try sample.packets()
        let hole = Damage.hole(sample.bytes, at: packets[2].lowerBound + 5, count: sample.bytes.count / 2)
        let read = try Readout(hole, .conceal, name: "a.ogg")
        #expect(read.error == nil && read.frames == sample.clean.frames)
    }
}
