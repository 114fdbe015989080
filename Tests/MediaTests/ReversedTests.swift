import Conversion
import TestSupport
import Testing

@testable import Media

/// A reversed track equals the reversed array of its samples.
@Suite struct ReversedTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    @Test(arguments: RangeCase.all) func reversedTrackIsTheReversedArray(test: RangeCase) throws {
        let path = try test.clip(in: folder)
        let whole = try ReadBack.file(path).pcm
        let access = try RandomAccess(path)
        let output = try ReversedOutput(access.reader, nil, chunkFrames: 1 << 15)
        #expect(output.promisedFrames == Int64(whole.frames))
        let difference = try PCM.all(of: output).difference(from: whole.reversed(), floor: test.floor)
        #expect(difference == nil)
    }
}
