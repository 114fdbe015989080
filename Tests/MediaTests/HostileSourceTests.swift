import Conversion
import TestSupport
import Testing

@testable import Media

/// Hostile bytes: every step gives sound or ends with an error code.
@Suite struct HostileSourceTests {
    private static let kinds: [SampleFile.Kind] = [
        .mp3VBR, .flac, .oggVorbis, .oggOpus, .m4aAAC, .m4aALAC, .cafOpus, .wav, .wavPack, .mkaAAC, .tsAAC, .wma,
    ]

    /// No seed is excluded: none of them crashed libav.
    @Test(.timeLimit(.minutes(15)), arguments: kinds) func flippedBitsEndInAnAnswer(kind: SampleFile.Kind) throws {
        let sample = try SampleFile.of(kind)
        let rates = [0.000_1, 0.000_5, 0.002, 0.008, 0.02]
        for seed in 0..<25 as Range<UInt64> {
            // Headers are damaged as well.
            let bytes = Damage.flipped(sample.bytes, seed: seed, rate: rates[Int(seed) % rates.count])
            let read = try Readout(bytes, seed.isMultiple(of: 2) ? .conceal : .strict, name: kind.fileName)
            #expect(read.blocks <= read.frames)
            if let error = read.error {
                #expect(!error.detail.isEmpty, "\(kind.rawValue), seed \(seed): \(error)")
                #expect(!error.description.contains(" @ 0x"), "\(kind.rawValue), seed \(seed): \(error)")
            } else if read.account.isEmpty, !read.isCutOff {
                #expect(read.frames >= read.promised ?? 0, "\(kind.rawValue), seed \(seed)")
            }
        }
    }
}
