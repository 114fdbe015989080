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
        let told = outcome.remarks.filter { $0.kind == .cover }
        #expect(told.map(\.detail) == ["1 picture was not carried over: sides must have 1 to 65535 pixels"])
        #expect(told.map(\.count) == [1])
        #expect(try pictures(out).map(\.bytes) == [png(60)])
    }

    @Test func longestSidesAreThoseOfJPEG() throws {
        #expect(try Picture(png(65_535, 65_535))?.width == 65_535)
        #expect(try Picture(png(60, 65_536)) == nil && Picture(png(60, 0)) == nil)
    }

    // MARK: Room

    /// A PNG of so many bytes. What stands behind its own is never read.
    private func png(bytes count: Int) throws -> [UInt8] {
        let picture = try Covered.picture(.png)
        return picture + Bytes.repeated([7], times: count - picture.count)
    }

    @Test func picturesThatDoNotFitLeaveTheRoomToOthers() throws {
        let list = try [9_000, 20_000, 5_000, 900].compactMap { try Picture(png(bytes: $0)) }
        func kept(_ room: PictureRoom) -> [Int] { room.fitting(list).map(\.bytes.count) }
        #expect(kept(PictureRoom()) == [9_000, 20_000, 5_000, 900])
        #expect(kept(PictureRoom(all: 15_000)) == [9_000, 5_000])
        #expect(kept(PictureRoom(each: 9_128)) == [9_000, 5_000, 900])
        #expect(kept(PictureRoom(each: 9_127)) == [5_000, 900])
        #expect(kept(PictureRoom(all: -5)) == [])
    }

    /// Ogg had them all and failed; of a longer tag than 16 MiB, nothing is read in WavPack.
    @Test(arguments: [(Container.ogg, 3), (.wavpack, 1), (.flac, 4)])
    func largePicturesAreKeptAsFarAsTheyFit(container: Container, count: Int) throws {
        let large = try png(bytes: 9 << 20)
        let (path, out) = (try mp3(Array(repeating: large, count: 4)), folder.path("out"))
        let format = AudioFormat(container: container)
        let outcome = try Converted.file(path, to: out, as: format, verifies: true, tags: ["title": "Song"])
        let told = outcome.remarks.filter { $0.kind == .cover }
        #expect(told.map(\.count) == (count == 4 ? [] : [Int64(4 - count)]))
        let file = try OpenFile.reading(out)
        let found = try Reader(descriptor: file.descriptor).description
        #expect(found.pictures.count == count && found.pictures.allSatisfy { Bytes.areEqual($0.bytes, large) })
        #expect(found.tags.contains { $0.key.lowercased() == "title" && $0.value == "Song" })
    }

    /// The block of a picture in FLAC holds 16 MiB with all that stands beside the picture.
    @Test func pictureAsLargeAsABlockStaysBehind() throws {
        let (path, out) = (try mp3([png(bytes: 16 << 20)]), folder.path("out.flac"))
        let outcome = try Converted.file(path, to: out, as: AudioFormat(container: .flac), verifies: true)
        let told = outcome.remarks.filter { $0.kind == .cover }
        #expect(told.map(\.detail) == ["1 picture was not carried over: too large for FLAC"])
        #expect(outcome.summary.lostTags == ["cover"])
    }

    // MARK: Kinds

    @Test(arguments: [("Cover Art (Front)", 3), ("cover art (back)", 4), ("Cover Art (Back) 2", 4), ("Other", 3)])
    func kindsOfAPEAreRead(name: String, kind: UInt8) { #expect(PictureKind.of([(name, "cover.png")]) == kind) }

    /// Where nothing states what a picture shows, players show the first one.
    @Test(arguments: [Container.m4a, .mka, .wavpack]) func frontCoverIsShownThoughABackCoverComesFirst(
        container: Container
    ) throws {
        var (list, bytes): ([Picture], [[UInt8]]) = ([], [])
        for kind in [4, 3, 5] as [UInt8] {
            bytes.append(try png(UInt32(kind)))
            var picture = try #require(Picture(bytes[bytes.count - 1]))
            picture.kind = kind
            list.append(picture)
        }
        let (flac, out) = (folder.path("a.flac"), folder.path("out." + container.fileExtensions[0]))
        let sound = folder.path("s.wav")
        try WAVFile.write(Signal.sweep(rate: 44_100, frames: 4_410).pcm(.s16), to: sound)
        for picture in list { try Bytes.write(picture.bytes, to: folder.path("\(picture.kind).png")) }
        let named = list.map { "--picture=\($0.kind)||||" + folder.path("\($0.kind).png") }
        try Run.program("flac", ["-s"] + named + [sound, "-o", flac]).checked()
        #expect(try pictures(flac) == list)
        try Converted.file(flac, to: out, as: AudioFormat(container: container), verifies: true)
        let found = try pictures(out)
        if container == .wavpack {
            #expect(found.map(\.bytes) == bytes && found.map(\.kind) == [4, 3, 5])
        } else {
            #expect(found.map(\.bytes) == [bytes[1], bytes[0], bytes[2]])
        }
    }
}
