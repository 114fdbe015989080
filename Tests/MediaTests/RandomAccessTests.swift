import Conversion
import TestSupport
import Testing

@testable import Media

/// Any range of a source, in any order, equals the same range of the whole.
@Suite struct RandomAccessTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    @Test(arguments: RangeCase.all) func rangesInAnyOrderAreThoseOfTheWhole(test: RangeCase) throws {
        let path = try test.longClip(in: folder)
        let whole = try ReadBack.file(path).pcm
        let access = try RandomAccess(path)
        var generator = SeededGenerator(seed: 18)
        for number in 0..<40 {
            let start = generator.whole(in: 0..<whole.frames)
            let length = generator.whole(in: 0..<[1, 10, 3_000, 60_000][number % 4] + 1)
            let range = start..<min(start + length, whole.frames)
            let part = try access.pcm(range)
            if range.isEmpty {
                #expect(part.frames == 0)
                continue
            }
            let difference = try part.difference(from: whole.cut(range), floor: test.seekFloor)
            #expect(difference == nil, "\(number): \(range): \(difference ?? "")")
        }
        #expect(try access.reader.frames == Int64(whole.frames))
    }

    @Test(arguments: RangeCase.all) func lengthIsExactBeforeAnythingIsRead(test: RangeCase) throws {
        let path = try test.longClip(in: folder)
        let whole = try ReadBack.file(path)
        let access = try RandomAccess(path)
        #expect(try access.reader.frames == whole.deliveredFrames)
    }

    @Test(arguments: RangeCase.all) func consecutiveRangesAreReadOnWithoutASeek(test: RangeCase) throws {
        let path = try test.longClip(in: folder)
        let whole = try ReadBack.file(path)
        let pcm = try whole.pcm
        let access = try RandomAccess(path)
        var parts: [PCM] = []
        for start in stride(from: 0, to: pcm.frames, by: 777) {
            parts.append(try access.pcm(start..<min(start + 777, pcm.frames)))
        }
        #expect(try PCM.joined(parts) == pcm)
        #expect(access.reader.decodedPackets == whole.decodedPackets)
    }
}
