import Conversion
import TestSupport
import Testing

@testable import Media

/// Damage counts only inside the requested ranges.
@Suite struct DamageRangeTests {
    private static let kinds: [SampleFile.Kind] = [
        .flac, .mp3CBR, .oggOpus, .oggVorbis, .m4aALAC, .mkaFLAC, .mkaOpus, .adts, .wavPack, .ac3,
    ]

    /// A file with a hole in the middle, and the readout of the clean file.
    private func holed(_ kind: SampleFile.Kind) throws -> (bytes: [UInt8], clean: Readout) {
        let sample = try SampleFile.of(kind)
        let packets = try sample.packets()
        let middle = packets[packets.count / 2].lowerBound + 5
        return (Damage.hole(sample.bytes, at: middle, count: sample.bytes.count / 40), sample.clean)
    }

    private func range(_ frames: Range<Int>, _ clean: Readout) throws -> MediaTimeRange {
        try MediaTimeRange(
            start: MediaTime(frames: Int64(frames.lowerBound), rate: clean.rate),
            end: MediaTime(frames: Int64(frames.upperBound), rate: clean.rate)
        )
    }

    @Test(arguments: kinds) func damageOutsideTheRangeDoesNotFailIt(kind: SampleFile.Kind) throws {
        let (bytes, clean) = try holed(kind)
        for frames in [3_000..<15_000, 44_000..<52_000] {
            for mode in [DamageMode.strict, .conceal, .skip] {
                let part = try Readout(bytes, mode, name: kind.fileName, ranges: [range(frames, clean)])
                #expect(part.error == nil, "\(mode) \(frames)")
                #expect(part.account.isEmpty)
                #expect(part.frames == frames.count)
                let fit = SampleMath.fit(part.samples, from: 0, clean.samples, in: frames)
                #expect(fit > 0.97, "\(mode) \(frames)")
            }
        }
    }

    @Test(arguments: kinds) func damageInsideTheRangeCounts(kind: SampleFile.Kind) throws {
        let (bytes, clean) = try holed(kind)
        let whole = try Readout(bytes, .conceal, name: kind.fileName)
        let frames = 10_000..<50_000
        let strict = try Readout(bytes, .strict, name: kind.fileName, ranges: [range(frames, clean)])
        #expect([.corruptStream, .timelineGap].contains(strict.error?.code))
        #expect(strict.error?.frame.map { $0 >= 10_000 } == true)
        let conceal = try Readout(bytes, .conceal, name: kind.fileName, ranges: [range(frames, clean)])
        #expect(conceal.frames == frames.count)
        #expect(conceal.account == whole.account)
        let skip = try Readout(bytes, .skip, name: kind.fileName, ranges: [range(frames, clean)])
        #expect(skip.frames + Int(skip.account.frames) == frames.count)
    }

    @Test func stretchAcrossTheEdgeOfARangeCountsAsFarAsItLiesWithin() throws {
        let (bytes, clean) = try holed(.flac)
        let whole = try Readout(bytes, .conceal, name: "a.flac")
        let stretch = try #require(whole.account.stretches.first)
        let middle = Int(stretch.start + stretch.frames / 2)
        for frames in [10_000..<middle, middle..<50_000] {
            let conceal = try Readout(bytes, .conceal, name: "a.flac", ranges: [range(frames, clean)])
            #expect(conceal.frames == frames.count)
            #expect(conceal.account.frames == stretch.frames / 2)
            let skip = try Readout(bytes, .skip, name: "a.flac", ranges: [range(frames, clean)])
            #expect(skip.frames == frames.count - Int(stretch.frames / 2))
        }
    }

    @Test func sourceCutBeforeTheRangeIsTruncated() throws {
        let sample = try SampleFile.of(.flac)
        let cut = Damage.cut(sample.bytes, to: sample.bytes.count / 2)
        let frames = 45_000..<50_000
        let strict = try Readout(cut, name: "a.flac", ranges: [range(frames, sample.clean)])
        #expect(strict.error?.code == .truncated)
        let conceal = try Readout(cut, .conceal, name: "a.flac", ranges: [range(frames, sample.clean)])
        #expect(conceal.isSilent(in: 0..<5_000) && conceal.account.frames == 5_000)
    }
}
