import Conversion
import TestSupport
import Testing

@testable import Media

/// A loop equals its range, repeated.
@Suite struct LoopTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    @Test(arguments: RangeCase.all) func loopIsTheRangeRepeated(test: RangeCase) throws {
        let path = try test.longClip(in: folder)
        let whole = try ReadBack.file(path).pcm
        let range = whole.frames / 3..<whole.frames / 3 + min(50_001, whole.frames / 2)
        let part = try whole.cut(range)
        // From memory and from the source.
        for storeBytes in [4 << 20, 0] {
            let access = try RandomAccess(path)
            let output = try LoopOutput(
                access.reader,
                Int64(range.lowerBound)..<Int64(range.upperBound),
                frames: Int64(part.frames) * 2 + 1_000,
                storeBytes: storeBytes
            )
            #expect(output.promisedFrames == Int64(part.frames) * 2 + 1_000)
            let loop = try PCM.all(of: output)
            let wanted = try PCM.joined([part, part, part.cut(0..<1_000)])
            let difference = try loop.difference(from: wanted, floor: test.seekFloor)
            #expect(difference == nil, "\(storeBytes)")
        }
    }

    @Test(arguments: RangeCase.all) func loopOfTheWholeIsTheWholeTwice(test: RangeCase) throws {
        let path = try test.longClip(in: folder)
        let whole = try ReadBack.file(path).pcm
        let access = try RandomAccess(path)
        let output = try LoopOutput(access.reader, nil, frames: Int64(whole.frames) * 2, storeBytes: 0)
        // The decoder begins anew, so that even codecs with noise repeat it.
        #expect(try PCM.all(of: output) == PCM.joined([whole, whole]))
    }
}
