import Conversion
import TestSupport
import Testing

@testable import Media

/// Pictures that some outputs cannot hold, or not in this order.
@Suite struct PictureTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    /// An MP3 file with these pictures in front: a front cover, then others.
    private func mp3(_ pictures: [[UInt8]]) throws -> String {
        let (sound, path) = (folder.path("sound.wav"), folder.path("source.mp3"))
        try WAVFile.write(Signal.sweep(rate: 44_100, frames: 4_410).pcm(.s16), to: sound)
        try Run.program("lame", ["--quiet", sound, path]).checked()
        try Bytes.write(TaggedCover.id3(pictures) + Bytes.read(path), to: path)
        return path
    }

    /// A PNG that states these sides.
    private func png(_ width: UInt32, _ height: UInt32 = 40) throws -> [UInt8] {
        var bytes = try Covered.picture(.png)
        bytes.replaceSubrange(16..<24, with: [width, height].flatMap { bigEndianBytes(Int64($0), count: 4) })
        return bytes
    }

    private func pictures(_ path: String) throws -> [Picture] {
        let file = try OpenFile.reading(path)
        return try Reader(descriptor: file.descriptor, options: .init(nameHint: path)).description.pictures
    }

    // MARK: Sides

    @Test(arguments: [Container.flac, .m4a, .ogg, .mp3], [0, 65_536, 0x7FFF_FFFF, 0xFFFF_FFFF] as [UInt32])
    func picturesWithImpossibleSidesStayBehind(container: Container, width: UInt32) throws {
        let (path, out) = (try mp3([png(width), png(60)]), folder.path("out"))
        let outcome = try Converted.file(path, to: out, as: AudioFormat(container: container), verifies: true)
        #expect(outcome.remarks.filter { $0.kind == .cover }.map(\.count) == [1])
        #expect(try pictures(out).map(\.bytes) == [png(60)])
    }

    @Test func longestSidesAreThoseOfJPEG() throws {
        #expect(try Picture(png(65_535, 65_535))?.width == 65_535)
        #expect(try Picture(png(60, 65_536)) == nil && Picture(png(60, 0)) == nil)
    }
}
