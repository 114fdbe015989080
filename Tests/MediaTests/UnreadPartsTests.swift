import Conversion
import TestSupport
import Testing

@testable import Media

/// What a file has that no output gets is named, and what is kept is not.
@Suite struct UnreadPartsTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private func unread(_ path: String) throws -> [String] {
        let input = try OpenFile.reading(path)
        return try Reader(descriptor: input.descriptor, options: .init(nameHint: path)).unreadParts.names
    }

    private func little(_ value: Int) -> [UInt8] { bigEndianBytes(Int64(value), count: 4).reversed() }
    private func big(_ value: Int) -> [UInt8] { bigEndianBytes(Int64(value), count: 4) }

    /// A file with a title, made by another program.
    private func make(_ name: String, _ arguments: [String] = []) throws -> String {
        let path = folder.path(name)
        let sound = Signal.sweep(rate: 48_000, frames: 24_000).pcm(.s16)
        try FFmpeg.encode(sound, to: path, ["-metadata", "title=One"] + arguments)
        return path
    }

    /// The same with two chapters.
    private func makeBook(_ name: String, _ arguments: [String] = []) throws -> String {
        let (list, sound) = (folder.path("chapters.txt"), folder.path("sound.wav"))
        let text = """
            ;FFMETADATA1
            title=One
            [CHAPTER]
            TIMEBASE=1/1000
            START=0
            END=200
            title=A
            [CHAPTER]
            TIMEBASE=1/1000
            START=200
            END=500
            title=B

            """
        try Bytes.write(Array(text.utf8), to: list)
        try WAVFile.write(Signal.sweep(rate: 48_000, frames: 24_000).pcm(.s16), to: sound)
        try FFmpeg.encode(sound, to: folder.path(name), ["-i", list, "-map_metadata", "1"] + arguments)
        return folder.path(name)
    }

    @Test(arguments: [
        "a.wav", "a.aiff", "a.caf", "a.flac", "a.ogg", "a.opus", "a.mp3", "a.aac", "a.m4a", "a.mka", "a.wv", "a.w64",
    ])
    func filesOfOtherProgramsAreReadInFull(name: String) throws { #expect(try unread(make(name)) == []) }

    @Test(arguments: ["a.mp3", "a.m4b", "a.mka"]) func chaptersAreRead(name: String) throws {
        #expect(try unread(makeBook(name)) == [])
    }

    // MARK: WAV

    @Test func regionsAndNotesOfWAVAreNamed() throws {
        let path = try make("a.wav")
        func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
            let head = Array(name.utf8) + little(content.count)
            return head + content + [UInt8](repeating: 0, count: content.count % 2)
        }
        func region(_ frames: Int) -> [UInt8] {
            var content = little(1) + little(frames)
            content += Array("rgn ".utf8) + [UInt8](repeating: 0, count: 8)
            return chunk("ltxt", content)
        }
        var point = little(1) + little(1) + little(0)
        point += Array("data".utf8) + [UInt8](repeating: 0, count: 12)
        let cue = chunk("cue ", point)
        let label = chunk("labl", little(1) + Array("Take".utf8) + [0])
        func file(_ lists: [[UInt8]]) throws -> [String] {
            var bytes = try Bytes.read(path) + cue
            for list in lists { bytes += chunk("LIST", list) }
            bytes.replaceSubrange(4..<8, with: little(bytes.count - 8))
            try Bytes.write(bytes, to: folder.path("marked.wav"))
            return try unread(folder.path("marked.wav"))
        }
        let associated = Array("adtl".utf8)
        #expect(try file([associated + label + region(0)]) == [])
        let note = chunk("note", little(1) + Array("Loud".utf8) + [0])
        let picture = Array("exif".utf8) + chunk("ever", Array("0220".utf8))
        let named = try file([associated + label + region(500) + note, picture])
        #expect(named == ["chunk ltxt", "chunk note", "chunk LIST of type exif"])
        // Sizes beyond the end of the file.
        let hostile = associated + Array("labl".utf8) + little(Int(UInt32.max)) + note
        #expect(try file([hostile]) == [])
    }

    @Test func chunksOfW64AreNamed() throws {
        let path = try make("a.w64")
        // 24 bytes of name and size, and eight of content.
        let size: [UInt8] = bigEndianBytes(32, count: 8).reversed()
        let chunk: [UInt8] = Array("bext".utf8) + [UInt8](repeating: 1, count: 12)
        try Bytes.write(Bytes.read(path) + chunk + size + size, to: path)
        #expect(try unread(path) == ["chunk bext"])
    }

    // MARK: ID3

    /// ID3v2.3 without flags.
    private func tag(_ frames: [UInt8], version: UInt8 = 3, flags: UInt8 = 0) -> [UInt8] {
        Array("ID3".utf8) + [version, 0, flags] + ID3Number.bytes(frames.count) + frames
    }

    private func frame(_ name: String, _ content: [UInt8]) -> [UInt8] {
        Array(name.utf8) + big(content.count) + [0, 0] + content
    }

    private func text(_ name: String, _ value: String) -> [UInt8] { frame(name, [0] + Array(value.utf8)) }

    /// An MP3 file between bytes.
    private func song(_ front: [UInt8], _ end: [UInt8] = []) throws -> String {
        let bare = try make("bare.mp3", ["-id3v2_version", "0"])
        try Bytes.write(front + Bytes.read(bare) + end, to: folder.path("song.mp3"))
        return folder.path("song.mp3")
    }

    @Test func partsOfChaptersAreNamed() throws {
        let times: [UInt8] = big(0) + big(100) + [UInt8](repeating: 0xFF, count: 8)
        func chapter(_ frames: [UInt8]) -> [UInt8] { frame("CHAP", Array("a\0".utf8) + times + frames) }
        let table = Array("toc\0".utf8) + [3, 1] + Array("a\0".utf8)
        let title = text("TIT2", "One")
        let plain = title + frame("CTOC", table) + chapter(text("TIT2", "A"))
        #expect(try unread(song(tag(plain))) == [])
        let picture = frame("APIC", [0] + Array("image/png\0".utf8) + [3, 0, 0x89])
        let link = frame("WXXX", Array("\0\0https://a.example".utf8))
        let rich = frame("CTOC", table + text("TIT2", "All")) + chapter(text("TIT2", "A") + picture + link)
        let named = try unread(song(tag(title + rich)))
        #expect(named == ["frame TIT2 in CTOC", "frame APIC in CHAP", "frame WXXX in CHAP"])
        // A chapter that ends in its name.
        let cut = frame("CHAP", Array("aaaa".utf8))
        #expect(try unread(song(tag(title + cut))) == ["frame CHAP"])
    }

    @Test func furtherTagsOfMP3AreNamed() throws {
        let first = tag(text("TIT2", "One"))
        #expect(try unread(song(first)) == [])
        #expect(try unread(song(first + tag(text("TIT3", "Two")))) == ["second ID3 tag"])
        let content = text("TIT3", "Two")
        let footer: [UInt8] = Array("3DI".utf8) + [4, 0, 0x10] + ID3Number.bytes(content.count)
        let last = tag(content, version: 4, flags: 0x10) + footer
        #expect(try unread(song(first, last)) == ["second ID3 tag"])
        let lyrics = Array("LYRICSBEGININD0000210000021LYRICS200".utf8)
        #expect(try unread(song(first, lyrics + field(97, "", 0xFF))) == ["Lyrics3 tag"])
        var ape = Array("APETAGEX".utf8) + little(2000) + little(32)
        ape += [UInt8](repeating: 0, count: 16)
        #expect(try unread(song(first, ape)) == ["APE tag"])
    }

    /// An ID3v1 tag with a text at a place, and this genre.
    private func field(_ place: Int, _ text: String, _ genre: UInt8) -> [UInt8] {
        var tag = Array("TAG".utf8) + [UInt8](repeating: 0, count: 124) + [genre]
        tag.replaceSubrange(place..<(place + text.utf8.count), with: Array(text.utf8))
        return tag
    }

    private func tags(_ path: String) throws -> [String: String] {
        let input = try OpenFile.reading(path)
        let tags = try Reader(descriptor: input.descriptor, options: .init(nameHint: path)).description.tags
        return Dictionary(tags.map { ($0.key.lowercased(), $0.value) }) { first, _ in first }
    }

    @Test func fieldsThatOnlyID3v1HasAreTags() throws {
        let front = tag(text("TIT2", "One of a kind"))
        let whole = try song(front, field(3, "One of", 0xFF))
        #expect(try tags(whole)["title"] == "One of a kind" && unread(whole) == [])
        let loud = try tags(song(front, field(97, "Loud  ", 12)))
        #expect(loud["comment"] == "Loud" && loud["genre"] == nil)
        let numbered = try tags(song(front, field(125, "\0\u{7}", 17)))
        #expect(numbered["track"] == "7" && numbered["genre"] == "Rock" && numbered["comment"] == nil)
        // Zeros are what programs write that know no genre.
        #expect(try tags(song(front, field(97, "Loud", 0)))["genre"] == nil)
        // Without another tag, libav reads it.
        #expect(try unread(song([], field(97, "Loud", 17))) == [])
        let flac = try make("a.flac")
        var latin = field(33, "Ada_", 0xFF)
        latin[36] = 0xE9
        try Bytes.write(Bytes.read(flac) + latin, to: flac)
        #expect(try tags(flac)["artist"] == "Ada\u{E9}" && unread(flac) == [])
        // 31 bytes of UTF-8, of which the field has 30.
        var cut = Array("TAG".utf8) + [UInt8](repeating: 0, count: 124) + [0xFF]
        cut.replaceSubrange(33..<63, with: Array(("1" + String(repeating: "\u{FC}", count: 15)).utf8).prefix(30))
        let other = try make("b.flac")
        try Bytes.write(Bytes.read(other) + cut, to: other)
        #expect(try tags(other)["artist"] == "1" + String(repeating: "\u{FC}", count: 14))
    }

    // MARK: MP4

    private func box(_ name: String, _ content: [UInt8]) -> [UInt8] {
        let head = big(content.count + 8) + Array(name.utf8)
        return head + content
    }

    private func item(_ name: String, _ kind: UInt8, _ value: [UInt8]) -> [UInt8] {
        let head: [UInt8] = [0, 0, 0, kind, 0, 0, 0, 0]
        return box(name, box("data", head + value))
    }

    private func custom(_ space: String, _ name: String, _ kind: UInt8) -> [UInt8] {
        let names = box("mean", big(0) + Array(space.utf8)) + box("name", big(0) + Array(name.utf8))
        let head: [UInt8] = [0, 0, 0, kind, 0, 0, 0, 0]
        return box("----", names + box("data", head + Array("ABCDEFGHIJ".utf8)))
    }

    /// An M4A file with further items, boxes in `udta` and boxes at its end. `moov` is the last box that ffmpeg writes.
    private func movie(_ items: [UInt8], _ user: [UInt8] = [], _ end: [UInt8] = []) throws -> String {
        var bytes = try Bytes.read(make("a.m4a"))
        func grow(_ names: [String], _ content: [UInt8]) throws {
            var end = 0
            for name in names {
                let place = try #require(Bytes.find(name, in: bytes, from: end)) - 4
                let size = Int(try Bytes.big(UInt32.self, in: bytes, at: place))
                bytes.replaceSubrange(place..<(place + 4), with: big(size + content.count))
                if name == names.last { bytes.insert(contentsOf: content, at: place + size) }
                end = place + 8
            }
        }
        try grow(["moov", "udta", "meta", "ilst"], items)
        try grow(["moov", "udta"], user)
        try Bytes.write(bytes + end, to: folder.path("song.m4a"))
        return folder.path("song.m4a")
    }

    @Test func itemsOfMP4ThatAreNotKeptAreNamed() throws {
        var kept = item("stik", 21, [2]) + item("cpil", 21, [1])
        kept += item("desc", 1, [0x41]) + item("gnre", 0, [0, 18])
        #expect(try unread(movie(kept + custom("com.apple.iTunes", "MOOD", 1))) == [])
        var items = item("tvpr", 21, [2]) + item("cnID", 1, [UInt8](repeating: 0x41, count: 4_000))
        items += custom("com.serato.dj", "markers", 1) + custom("com.apple.iTunes", "X", 0)
        let names = ["tvpr", "cnID", "----:com.serato.dj:markers", "----:com.apple.iTunes:X"]
        #expect(try unread(movie(items)) == names.map { "MP4 item " + $0 })
    }

    /// Nothing of them is about the sound, and nothing is lost.
    @Test func itemsOfShopsStayAsTheyAre() throws {
        let items =
            item("apID", 1, Array("ada@example.org".utf8)) + item("cnID", 21, [0, 0, 1, 2]) + item("rtng", 21, [2])
        let path = try movie(items + item("ownr", 1, Array("Ada".utf8)))
        #expect(try unread(path) == [])
        let input = try OpenFile.reading(path)
        let output = try OpenFile.creating(folder.path("copy.m4a"))
        let copy = Recipe.Output(location: "copy.m4a", format: AudioFormat(container: .m4a, codec: .copy))
        let recipe = Recipe(from: .init(location: "song.m4a"), to: copy)
        _ = try Converter(Converter.Request(recipe)).run(from: input.descriptor, to: output.descriptor)
        let (original, bytes) = (try Bytes.read(path), try Bytes.read(folder.path("copy.m4a")))
        for name in ["apID", "cnID", "rtng", "ownr"] {
            let place = try #require(Bytes.find(name, in: bytes, from: 0)) - 4
            let whole = try #require(Bytes.find(name, in: original, from: 0)) - 4
            let size = Int(try Bytes.big(UInt32.self, in: original, at: whole))
            #expect(bytes[place..<(place + size)] == original[whole..<(whole + size)], "\(name)")
        }
        #expect(try unread(folder.path("copy.m4a")) == [])
    }

    @Test func boxesOfMP4ThatAreNotKeptAreNamed() throws {
        var xmp: [UInt8] = [0xBE, 0x7A, 0xCF, 0xCB] + [UInt8](repeating: 0, count: 12)
        xmp += Array("<x/>".utf8)
        let named = try unread(movie([], box("Xtra", [1, 2, 3, 4]), box("uuid", xmp)))
        #expect(Set(named) == ["MP4 box Xtra", "MP4 box uuid (XMP)"])
    }

    @Test func timeCodeTracksAreNamed() throws {
        let (film, path) = (folder.path("film.mov"), folder.path("sound.mov"))
        let picture = ["-f", "lavfi", "-i", "testsrc=size=60x40:duration=0.5"]
        let sound = try make("sound.wav")
        try FFmpeg.run(["-y"] + picture + ["-i", sound, "-c:v", "mpeg4", "-timecode", "01:00:00:00", film])
        try FFmpeg.run(["-y", "-i", film, "-map", "0:a", "-map", "0:d", "-c", "copy", path])
        #expect(try unread(path) == ["time code track"])
    }

    // MARK: Ogg, APE and Matroska

    @Test func skeletonsOfOggAreNamed() throws {
        let path = try make("a.ogg")
        var file = try OggFile(Bytes.read(path))
        func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
        let head: [UInt8] = Array("fishead\0".utf8) + [3, 0, 0, 0] + zeros(52)
        // The first page of a stream. Its checksum comes later.
        var page: [UInt8] = Array("OggS".utf8) + [0, 2] + zeros(8)
        page += [9, 3, 0, 0] + zeros(8) + [1, UInt8(head.count)]
        file.headers.insert(page + head, at: 0)
        try Bytes.write(file.renumbering { UInt32(max(0, $0 - 1)) }, to: path)
        #expect(try unread(path) == ["data stream"])
    }

    @Test func itemsOfBytesInAPEAreNamed() throws {
        let path = try make("a.wv", ["-map_metadata", "-1", "-fflags", "+bitexact"])
        func item(_ name: String, _ kind: Int, _ value: [UInt8]) -> [UInt8] {
            let head = little(value.count) + little(kind) + Array(name.utf8)
            return head + [0] + value
        }
        let items = item("Title", 0, Array("One".utf8)) + item("Secret", 2, [1, 2, 3])
        var footer = Array("APETAGEX".utf8) + little(2000)
        footer += little(items.count + 32) + little(2) + [UInt8](repeating: 0, count: 12)
        let bare = try Bytes.read(path)
        try Bytes.write(bare.prefix(Bytes.find("APETAGEX", in: bare) ?? bare.count) + items + footer, to: path)
        #expect(try unread(path).contains("APE item Secret"))
    }

    @Test func tagsOfTracksAreNamedBesideThoseOfTheFile() throws {
        let path = try make("a.mka", ["-metadata:s:a:0", "artist=Ada"])
        #expect(try unread(path) == ["Matroska tag ARTIST of a part"])
    }

    /// The first chapter is made longer, so that the second one lies inside.
    @Test func chaptersInsideOfChaptersAreNamed() throws {
        let path = try makeBook("a.mka")
        var bytes = try Bytes.read(path)
        // The first place is in a table of the file's parts.
        let listed = try #require(Bytes.find([0x10, 0x43, 0xA7, 0x70], in: bytes))
        let list = try #require(Bytes.find([0x10, 0x43, 0xA7, 0x70], in: bytes, from: listed + 4))
        let edition = try #require(Bytes.find([0x45, 0xB9], in: bytes, from: list + 4))
        let first = try #require(Bytes.find([0xB6], in: bytes, from: edition + 2))
        /// The bytes of a size, and its value.
        func size(at place: Int) -> (count: Int, value: Int) {
            let count = bytes[place].leadingZeroBitCount + 1
            let number = bytes[place..<(place + count)].reduce(0) { $0 << 8 | Int($1) }
            return (count, number & (1 << (7 * count) - 1))
        }
        let (count, value) = size(at: first + 1)
        let second = first + 1 + count + value
        try #require(bytes[second] == 0xB6)
        let other = size(at: second + 1)
        let grown = value + 1 + other.count + other.value
        try #require(grown < 1 << (7 * count) - 1)
        let digits = bigEndianBytes(Int64(grown | 1 << (7 * count)), count: count)
        bytes.replaceSubrange((first + 1)..<(first + 1 + count), with: digits)
        try Bytes.write(bytes, to: path)
        #expect(try unread(path) == ["chapters inside of chapters"])
    }
}
