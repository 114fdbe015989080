import TestSupport
import Testing

@testable import Media

/// The walk over the chunks of RIFF, IFF and their relatives.
@Suite final class ChunksTests {
    private let file: OpenFile
    private let source: ByteSource
    private let folder: TemporaryFolder

    /// A file head of twelve bytes, a chunk of three bytes with its padding, and a chunk that states eight bytes and has
    /// none.
    init() throws {
        folder = try TemporaryFolder.create()
        let note = Array("note".utf8) + [3, 0, 0, 0] + [1, 2, 3, 0]
        let data = Array("data".utf8) + [8, 0, 0, 0]
        try Bytes.write([UInt8](repeating: 0, count: 12) + note + data, to: folder.path("chunks"))
        file = try OpenFile.reading(folder.path("chunks"))
        source = try ByteSource(descriptor: file.descriptor, stop: StopSignal())
    }

    private func find(_ name: String, _ chunks: Chunks) -> [Int64]? {
        chunks.first(name, in: source).map { [$0.place, $0.size] }
    }

    @Test func chunkIsFoundWithItsStatedSize() {
        #expect(find("note", .riff) == [20, 3])
        #expect(find("data", .riff) == [32, 8])
        #expect(find("none", .riff) == nil)
    }

    @Test func paddingAndByteOrderMatter() {
        #expect(find("data", Chunks(start: 12, sizeBytes: 4, sizesAreBig: false, arePadded: false)) == nil)
        #expect(find("data", .iff) == nil)
    }

    @Test func endMayLackThePaddingByte() {
        #expect(!Chunks.end(33, isBehind: source))
        #expect(Chunks.end(34, isBehind: source))
    }

    @Test func sizeThatWasNeverFilledInCutsNothing() {
        #expect(!Chunks.riff.areCut(source))
    }
}
