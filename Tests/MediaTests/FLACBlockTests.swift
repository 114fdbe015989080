import Conversion
import TestSupport
import Testing

@testable import Media

/// FLAC with varying block sizes. Old encoders number such blocks in ways that libav's timestamps do not handle.
@Suite struct FLACBlockTests {
    private let folder: TemporaryFolder
    private static let sound = Signal.noise(seed: 51, rate: 44_100, frames: 100_003, channels: 2).pcm(.s16)
    private static let sizes = [1_152, 4_608, 576, 2_304, 16]

    init() throws { folder = try TemporaryFolder.create() }

    /// The block sizes that the header states: the true sizes, one size for all, or a range.
    enum Claim: String, CaseIterable, Sendable {
        case truth, oneSize, range

        var sizes: (least: Int, most: Int)? {
            switch self {
            case .truth: nil
            case .oneSize: (4_608, 4_608)
            case .range: (16, 65_535)
            }
        }
    }

    private func write(_ file: BlockyFLAC) throws -> String {
        let path = folder.path("blocks.flac")
        try Bytes.write(file.bytes, to: path)
        return path
    }

    /// Regression: all blocks but the first were taken for repetitions of it.
    @Test(arguments: [DamageMode.strict, .trustPackets]) func blocksMayAllHaveOneNumber(damage: DamageMode) throws {
        let sound = Signal.noise(seed: 52, rate: 44_100, frames: 20_003, channels: 2)
        var file = FLACFile(rate: 44_100, channels: 2, bits: 16, frames: 20_003, numbersBlocks: false)
        file.append(sound.integers(bits: 16), rate: 44_100, bits: 16)
        let path = folder.path("zero.flac")
        try Bytes.write(file.bytes, to: path)
        let read = try Decoded.file(path, damage: damage)
        let isSame = try read.pcm.converted(to: .s16) == Player.flac.decode(path, in: folder)
        #expect(isSame && read.frames == 20_003 && read.damage.isEmpty)
    }

    /// Regression: half of the sound was taken for gaps and replaced with silence.
    @Test(arguments: BlockyFLAC.Numbering.allCases, Claim.allCases)
    func everySampleOfChangingBlocksIsThere(numbering: BlockyFLAC.Numbering, claim: Claim) throws {
        let file = try BlockyFLAC(Self.sound, sizes: Self.sizes, numbering, claimed: claim.sizes)
        let path = try write(file)
        for damage in [DamageMode.strict, .conceal] {
            let read = try Decoded.file(path, damage: damage)
            #expect(read.pcm == Self.sound && read.damage.isEmpty && read.track.length == .exact(100_003))
        }
        #expect(try Readout(file.bytes, name: "a.flac", checksDigest: true).error == nil)
        #expect(try FFmpeg.decode(path) == Self.sound)
        // The reference decoder places blocks by the header if that states one size for all.
        if numbering == .samples || claim != .oneSize { _ = try Run.program("flac", ["-s", "-t", path]).checked() }
    }

    @Test(arguments: [[16], [32_768], [1, 4_096], [192, 193, 194, 255, 256, 257]])
    func blocksOfAnySizeAreRead(sizes: [Int]) throws {
        for numbering in BlockyFLAC.Numbering.allCases {
            let clip = try Self.sound.cut(0..<(sizes == [16] ? 5_000 : 100_003))
            let read = try Decoded.file(try write(BlockyFLAC(clip, sizes: sizes, numbering)))
            #expect(read.pcm == clip && read.damage.isEmpty, "\(numbering)")
        }
    }

    @Test(arguments: BlockyFLAC.Numbering.allCases, Claim.allCases)
    func damagedBlockIsFoundWhereItLies(numbering: BlockyFLAC.Numbering, claim: Claim) throws {
        var file = try BlockyFLAC(Self.sound, sizes: Self.sizes, numbering, claimed: claim.sizes)
        let lost = file.starts[21]..<file.starts[22]
        file.damage(21)
        #expect(try Readout(file.bytes, name: "a.flac").error?.code == .corruptStream)
        let read = try Decoded.file(try write(file), damage: .conceal)
        #expect(
            read.damage.stretches.map { $0.start..<($0.start + $0.frames) } == [
                Int64(lost.lowerBound)..<Int64(lost.upperBound)
            ]
        )
        #expect(read.frames == 100_003)
        #expect(try read.pcm.cut(0..<lost.lowerBound) == Self.sound.cut(0..<lost.lowerBound))
        #expect(try read.pcm.cut(lost.upperBound..<100_003) == Self.sound.cut(lost.upperBound..<100_003))
    }

    /// Numbers that count samples give the place of the sound after a lost block.
    @Test(arguments: [BlockyFLAC.Numbering.samples, .samplesUntold], Claim.allCases)
    func lostBlockLeavesAGapOfItsSize(numbering: BlockyFLAC.Numbering, claim: Claim) throws {
        var file = try BlockyFLAC(Self.sound, sizes: Self.sizes, numbering, claimed: claim.sizes)
        let lost = file.starts[21]..<file.starts[22]
        file.remove(21)
        #expect(try Readout(file.bytes, name: "a.flac").error != nil)
        let read = try Decoded.file(try write(file), damage: .conceal)
        #expect(read.frames == 100_003 && read.damage.frames == Int64(lost.count))
        #expect(try read.pcm.cut(0..<lost.lowerBound) == Self.sound.cut(0..<lost.lowerBound))
        #expect(try read.pcm.cut(lost.upperBound..<100_003) == Self.sound.cut(lost.upperBound..<100_003))
    }

    @Test func lostBlockAmongNumberedOnesIsMissed() throws {
        var file = try BlockyFLAC(Self.sound, sizes: Self.sizes, .frames)
        file.remove(21)
        #expect(try Readout(file.bytes, name: "a.flac").error != nil)
        #expect(try Decoded.file(try write(file), damage: .conceal).frames == 100_003)
    }

    /// The source is long enough that a late range is reached by seeking and not by decoding.
    @Test(arguments: BlockyFLAC.Numbering.allCases, Claim.allCases)
    func rangesAreTheSameSamples(numbering: BlockyFLAC.Numbering, claim: Claim) throws {
        let sound = Signal.noise(seed: 52, rate: 44_100, frames: 300_001).pcm(.s16)
        let path = try write(BlockyFLAC(sound, sizes: Self.sizes, numbering, claimed: claim.sizes))
        let parts = [10..<20, 250_000..<300_001, 40_000..<40_001, 200_000..<220_000]
        let ranges = try parts.map { part in
            try MediaTimeRange(
                start: MediaTime(value: Int64(part.lowerBound), timescale: 44_100),
                end: MediaTime(value: Int64(part.upperBound), timescale: 44_100)
            )
        }
        #expect(try ReadBack.file(path, ranges).pcm == PCM.joined(parts.map { try sound.cut($0) }))
    }

    @Test(arguments: BlockyFLAC.Numbering.allCases, [Container.flac, .ogg, .mka])
    func packetsOfChangingBlocksFitAnyContainer(numbering: BlockyFLAC.Numbering, container: Container) throws {
        let source = try write(BlockyFLAC(Self.sound, sizes: Self.sizes, numbering))
        let path = folder.path("copied.\(container.fileExtensions[0])")
        try Converted.file(source, to: path, as: AudioFormat(container: container, codec: .copy), verifies: true)
        let read = try Decoded.file(path)
        #expect(read.pcm == Self.sound && read.damage.isEmpty)
        #expect(try FFmpeg.decode(path) == Self.sound)
    }

    /// All samples are positive, so that none looks like a frame header, at which `ffmpeg` would split packets.
    @Test func changingBlocksAreReadOutOfAnMP4() throws {
        let noise = Signal.noise(seed: 53, rate: 44_100, frames: 100_003, channels: 2, amplitude: 0.2)
        let sound = Signal(rate: 44_100, channels: noise.channels.map { $0.map { $0 + 0.4 } }).pcm(.s16)
        let path = folder.path("blocks.mp4")
        let source = try write(BlockyFLAC(sound, sizes: Self.sizes, .samples))
        try FFmpeg.encode(source, to: path, ["-c", "copy", "-strict", "-2"])
        let read = try Decoded.file(path)
        #expect(read.pcm == sound && read.damage.isEmpty)
    }
}
