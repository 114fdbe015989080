import Conversion
import TestSupport
import Testing

@testable import Media

/// Random access, loops and reverse treat damage as reading from the start does.
@Suite struct DamagedAccessTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private static let kinds: [SampleFile.Kind] = [
        .wav, .flac, .mp3CBR, .mp3VBRWithoutHeader, .adts, .oggVorbis, .oggFLAC, .m4aAAC, .m4aALAC, .fragmentedMP4,
        .mkaFLAC, .mkaVorbis, .mkaMP3, .wavPack, .tta, .tsAAC,
    ]

    /// A file with a hole in the middle.
    private func holed(_ kind: SampleFile.Kind) throws -> String {
        let sample = try SampleFile.of(kind)
        let packets = try sample.packets()
        let middle = packets[packets.count / 2].lowerBound + 5
        let path = folder.path(kind.fileName)
        try Bytes.write(Damage.hole(sample.bytes, at: middle, count: sample.bytes.count / 40), to: path)
        return path
    }

    @Test(arguments: kinds, [DamageMode.conceal, .skip]) func damagedPartsAreThoseOfTheWhole(
        kind: SampleFile.Kind,
        mode: DamageMode
    ) throws {
        let path = try holed(kind)
        let whole = try ReadBack.file(path, options: .init(damage: mode))
        let access = try RandomAccess(path, .init(damage: mode))
        #expect(try access.reader.frames == whole.deliveredFrames + (mode == .skip ? whole.damage.frames : 0))
        #expect(access.reader.damage == whole.damage)
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<20 {
            let start = generator.whole(in: 0..<50_000)
            let range = start..<start + generator.whole(in: 1..<5_000)
            let wanted = try PCM.joined([whole.pcm.cut(0..<0)] + whole.stretches.compactMap { try $0.part(in: range) })
            let part = try access.pcm(range)
            #expect(part.bytes == wanted.bytes, "\(range)")
        }
        #expect(access.reader.damage == whole.damage)
    }

    @Test(arguments: kinds, [DamageMode.conceal, .skip]) func damagedTrackIsReversedAsItIsRead(
        kind: SampleFile.Kind,
        mode: DamageMode
    ) throws {
        let path = try holed(kind)
        let whole = try ReadBack.file(path, options: .init(damage: mode))
        let access = try RandomAccess(path, .init(damage: mode))
        let output = try ReversedOutput(access.reader, nil, chunkFrames: 1 << 14)
        #expect(try PCM.all(of: output) == whole.pcm.reversed())
        let lacks = mode == .skip && whole.damage.frames > 0
        #expect(output.promisedFrames == (lacks ? nil : whole.deliveredFrames))
    }

    @Test(arguments: kinds) func strictReaderGivesWhatIsIntact(kind: SampleFile.Kind) throws {
        let path = try holed(kind)
        let whole = try ReadBack.file(path, options: .init(damage: .conceal))
        guard let stretch = whole.damage.stretches.first else { return }
        let access = try RandomAccess(path)
        let last = whole.damage.stretches.last!
        let behind = Int(last.start + last.frames) + 20_000
        for _ in 0..<2 {
            let start = Int(stretch.start) - 10_000
            #expect(try access.pcm(start..<start + 500) == whole.pcm.cut(start..<start + 500))
            #expect(throws: MediaError.self) { try access.pcm(start..<behind) }
            #expect(try access.pcm(100..<200) == whole.pcm.cut(100..<200))
        }
    }

    @Test func loopRepeatsTheSilenceAndCountsItOnce() throws {
        let path = try holed(.flac)
        let whole = try ReadBack.file(path, options: .init(damage: .conceal))
        let access = try RandomAccess(path, .init(damage: .conceal))
        let loop = try LoopOutput(access.reader, nil, frames: 3 * whole.deliveredFrames, storeBytes: 0)
        #expect(try PCM.all(of: loop) == PCM.joined([whole.pcm, whole.pcm, whole.pcm]))
        #expect(access.reader.damage == whole.damage)
    }
}

extension ReadBack.Stretch {
    /// The frames of the stretch that lie in `range`; `nil` if there are none.
    fileprivate func part(in range: Range<Int>) throws -> PCM? {
        let own = Int(position)..<Int(position) + pcm.frames
        let common = range.clamped(to: own)
        return common.isEmpty
            ? nil : try pcm.cut(common.lowerBound - own.lowerBound..<common.upperBound - own.lowerBound)
    }
}
