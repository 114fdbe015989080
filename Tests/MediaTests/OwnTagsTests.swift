import Conversion
import TestSupport
import Testing

@testable import Media

/// The tags that `Media` reads from the bytes of a file: all values, and those that libav leaves out.
@Suite struct OwnTagsTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private func tags(_ path: String) throws -> Tags {
        let input = try OpenFile.reading(path)
        return try Reader(descriptor: input.descriptor, options: .init(nameHint: path)).demuxer.ownTags
    }

    private func wav() throws -> String {
        let path = folder.path("sound.wav")
        try WAVFile.write(Signal.sweep(rate: 44_100, frames: 4410).pcm(.s16), to: path)
        return path
    }

    // MARK: All values

    @Test(arguments: ["flac", "oga"]) func commentsHaveAllTheirValues(ext: String) throws {
        let path = folder.path("a." + ext)
        let comments = ["ARTIST=One", "Artist=Two", "TRACKNUMBER=3/12", "MyField=Own", "ISRC=DEA061200001"]
        let ogg = ext == "oga" ? ["--ogg"] : []
        try Run.program("flac", ogg + ["-s", wav(), "-o", path] + comments.flatMap { ["-T", $0] }).checked()
        let tags = try tags(path)
        #expect(tags[.common("artist")] == ["One", "Two"])
        #expect(tags[.common("tracknumber")] == ["3"])
        #expect(tags[.common("totaltracks")] == ["12"])
        #expect(tags[.common("isrc")] == ["DEA061200001"])
        #expect(tags[.custom("MYFIELD")] == ["Own"])
        #expect(!tags.isCut)
    }

    @Test func textsOfID3AreReadInAllEncodings() {
        #expect(ID3Text.values([0xC4, 0x62, 0, 0x63], encoding: 0) == ["Äb", "c"])
        #expect(ID3Text.values([0xFF, 0xFE, 0xC4, 0, 0, 0, 0x63, 0], encoding: 1) == ["Ä", "c"])
        #expect(ID3Text.values([0xFE, 0xFF, 0, 0xC4, 0, 0, 0xFF, 0xFE, 0x63, 0], encoding: 1) == ["Ä", "c"])
        #expect(ID3Text.values([0, 0xC4, 0, 0, 0, 0x63], encoding: 2) == ["Ä", "c"])
        #expect(ID3Text.values([0xC3, 0x84, 0, 0x63], encoding: 3) == ["Ä", "c"])
    }

    @Test func brokenTextsOfID3AreReadAsFarAsTheyGo() {
        #expect(ID3Text.values([0xFF, 0xFE, 0x41, 0, 0x42], encoding: 1) == ["A"])
        #expect(ID3Text.values([0x41, 0xFF, 0x42], encoding: 3) == ["A\u{FFFD}B"])
        #expect(ID3Text.values([], encoding: 1) == [""])
        #expect(ID3Text.values([0x41], encoding: 9) == [])
    }

    /// Of two zeros behind FF, unsynchronisation has put in one.
    @Test func unsynchronisedTextsAreRestored() throws {
        let path = folder.path("a.mp3")
        try Run.program("lame", ["--quiet", wav(), path]).checked()
        let stored: [UInt8] = [1, 0xFF, 0, 0xFE, 0xFF, 0, 0, 0x42, 0]
        let frame = Array("TPE1".utf8) + [0, 0, 0, UInt8(stored.count), 0, 2] + stored
        let head = Array("ID3".utf8) + [4, 0, 0, 0, 0, 0, UInt8(frame.count)]
        try Bytes.write(head + frame + Bytes.read(path), to: path)
        let tags = try tags(path)
        #expect(tags[.common("artist")] == ["\u{FF}B"])
    }

    /// As mutagen writes them: the first value in one list, the others in a second one, which may come before it.
    @Test func valuesOfASFAreCollectedFromAllLists() throws {
        func number(_ value: Int, _ count: Int) -> [UInt8] { bigEndianBytes(Int64(value), count: count).reversed() }
        func wide(_ text: String) -> [UInt8] { text.utf16.flatMap { number(Int($0), 2) } + [0, 0] }
        func object(_ id: String, _ body: [UInt8]) -> [UInt8] {
            let digits = Array(id.filter { $0 != "-" })
            let bytes = stride(from: 0, to: 32, by: 2).compactMap { UInt8(String(digits[$0...($0 + 1)]), radix: 16) }
            var object: [UInt8] = []
            // The first three parts of an id are written backwards.
            for part in [0..<4, 4..<6, 6..<8] { object += bytes[part].reversed() }
            object += bytes[8...]
            object += number(24 + body.count, 8)
            return object + body
        }
        var record = number(0, 4)
        record += number(wide("Author").count, 2)
        record += number(0, 2)
        record += number(wide("Two").count, 4)
        record += wide("Author") + wide("Two")
        let library = object("44231C94-9498-49D1-A141-1D134E457054", number(1, 2) + record)
        let reserved = [UInt8](repeating: 0, count: 18) + number(library.count, 4)
        let texts: [[UInt8]] = [wide("Song"), wide("One"), [], [], []]
        var content = texts.flatMap { number($0.count, 2) }
        for text in texts { content += text }
        var objects = object("5FBF03B5-A92E-11CF-8EE3-00C00C205365", reserved + library)
        objects += object("75B22633-668E-11CF-A6D9-00AA0062CE6C", content)
        let head = number(2, 4) + [1, 2]
        let path = folder.path("a.wma")
        try Bytes.write(object("75B22630-668E-11CF-A6D9-00AA0062CE6C", head + objects), to: path)
        let input = try OpenFile.reading(path)
        var collector = TagCollector()
        try ASFAttributes.collect(in: ByteSource(descriptor: input.descriptor, stop: StopSignal()), into: &collector)
        #expect(collector.tags[.common("artist")] == ["One", "Two"])
        #expect(collector.tags[.common("title")] == ["Song"])
    }

    /// Tags of an album (50) and of a piece (30) may have the same names.
    @Test func tagsOfAnAlbumAreToldFromThoseOfThePieceInMatroska() throws {
        func element(_ id: [UInt8], _ body: [UInt8]) -> [UInt8] {
            // The size takes eight bytes, of which the first states that.
            id + [1] + bigEndianBytes(Int64(body.count), count: 7) + body
        }
        func tag(_ level: UInt8, _ texts: [(String, String)]) -> [UInt8] {
            var body = element([0x63, 0xC0], element([0x68, 0xCA], [level]))
            for (name, text) in texts {
                let pair = element([0x45, 0xA3], Array(name.utf8)) + element([0x44, 0x87], Array(text.utf8))
                body += element([0x67, 0xC8], pair)
            }
            return element([0x73, 0x73], body)
        }
        var tags = tag(50, [("TITLE", "Record"), ("ARTIST", "All"), ("PART_NUMBER", "9"), ("GENRE", "Jazz")])
        tags += tag(30, [("TITLE", "Song"), ("ARTIST", "One"), ("ARTIST", "Two"), ("PART_NUMBER", "3")])
        tags += tag(20, [("TITLE", "Verse")])
        tags += tag(70, [("TITLE", "Box")])
        let segment = element([0x18, 0x53, 0x80, 0x67], element([0x12, 0x54, 0xC3, 0x67], tags))
        let path = folder.path("a.mka")
        try Bytes.write(element([0x1A, 0x45, 0xDF, 0xA3], []) + segment, to: path)
        let input = try OpenFile.reading(path)
        let source = try ByteSource(descriptor: input.descriptor, stop: StopSignal())
        var collector = TagCollector()
        MatroskaTags.collect(in: source, try #require(source.size), into: &collector)
        let read = collector.tags
        #expect(read[.common("title")] == ["Song"])
        #expect(read[.common("album")] == ["Record"])
        #expect(read[.common("artist")] == ["One", "Two"])
        #expect(read[.common("albumartist")] == ["All"])
        #expect(read[.common("tracknumber")] == ["3"])
        #expect(read[.common("genre")] == ["Jazz"])
    }

    /// A byte that numbers a group lies in front of the text.
    @Test(arguments: [(UInt8(3), UInt8(0x20)), (4, 0x40)])
    func groupedFramesAreRead(version: UInt8, flag: UInt8) throws {
        let path = folder.path("a.mp3")
        try Run.program("lame", ["--quiet", wav(), path]).checked()
        let stored: [UInt8] = [0x81, 3, 0x41]
        let frame = Array("TPE1".utf8) + [0, 0, 0, UInt8(stored.count), 0, flag] + stored
        let head = Array("ID3".utf8) + [version, 0, 0, 0, 0, 0, UInt8(frame.count)]
        try Bytes.write(head + frame + Bytes.read(path), to: path)
        let tags = try tags(path)
        #expect(tags[.common("artist")] == ["A"])
    }

    // MARK: Frames of ID3

    /// An MP3 file with these frames in a tag of `version`.
    private func mp3(_ version: UInt8, _ frames: [(String, [UInt8])]) throws -> String {
        let path = folder.path("framed\(version).mp3")
        try Run.program("lame", ["--quiet", wav(), path]).checked()
        var body: [UInt8] = []
        for (name, content) in frames {
            body += Array(name.utf8) + [0, 0, 0, UInt8(content.count), 0, 0]
            body += content
        }
        let head = Array("ID3".utf8) + [version, 0, 0, 0, 0, UInt8(body.count >> 7), UInt8(body.count & 0x7F)]
        try Bytes.write(head + body + Bytes.read(path), to: path)
        return path
    }

    @Test(arguments: [UInt8(3), 4]) func commentsLyricsLinksAndIdentifiersAreRead(version: UInt8) throws {
        func content(_ encoding: UInt8?, _ text: String) -> [UInt8] { (encoding.map { [$0] } ?? []) + Array(text.utf8) }
        let wide: [UInt8] = [0xFF, 0xFE, 0, 0, 0xFF, 0xFE, 0x4C, 0, 0x61, 0]
        let frames: [(String, [UInt8])] = [
            ("COMM", content(0, "engiTunNORM\0 0001")), ("COMM", content(3, "deu\0Schön")),
            ("USLT", content(1, "eng") + wide), ("WCOP", content(nil, "https://example.org/by")),
            ("WXXX", content(0, "more\0https://example.org")),
            ("UFID", content(nil, "http://musicbrainz.org\0abc-1")), ("UFID", content(nil, "http://other\0x")),
            ("MVIN", content(0, "2/5")), ("PCST", [0, 0, 0, 0]),
        ]
        let path = try mp3(version, frames)
        let tags = try tags(path)
        #expect(tags[.common("comment")] == ["Schön"])
        #expect(tags[.common("lyrics")] == ["La"])
        #expect(tags[.common("license")] == ["https://example.org/by"])
        #expect(tags[.common("musicbrainz_recordingid")] == ["abc-1"])
        #expect(tags[.common("movementnumber")] == ["2"])
        #expect(tags[.common("movementtotal")] == ["5"])
        #expect(tags[.common("podcast")] == ["1"])
        #expect(tags.texts.count == 7)
    }

    @Test func genresOfID3AreReadByTheirNumbers() {
        #expect(ID3Genres.names(["17"]) == ["Rock"])
        #expect(ID3Genres.names(["(17)"]) == ["Rock"])
        #expect(ID3Genres.names(["(17)(8)"]) == ["Rock", "Jazz"])
        #expect(ID3Genres.names(["(4)Eurodisco"]) == ["Disco", "Eurodisco"])
        #expect(ID3Genres.names(["(17)Rock"]) == ["Rock"])
        #expect(ID3Genres.names(["17", "Jazz", "8", "RX"]) == ["Rock", "Jazz", "Remix"])
        #expect(ID3Genres.names(["((I can figure out any genre)"]) == ["(I can figure out any genre)"])
        for text in ["1999", "(200)", "(", "()", "(Live)", "1980s", "-1", ""] {
            #expect(ID3Genres.names([text]) == (text.isEmpty ? [] : [text]), "\(text)")
        }
    }

    /// A frame of a megabyte holds 250,000 of them. Each was compared with all others.
    @Test func genresBeyondTheLimitAreNotLookedAt() {
        let many = (0..<50_000).map { "genre \($0)" }
        #expect(ID3Genres.names(many) == Array(many.prefix(TagCollector.mostValues + 1)))
        #expect(ID3Genres.names(many.map { _ in "Rock" }) == ["Rock"])
    }

    @Test func genresByNumberAreAllCarriedOver() throws {
        let path = try mp3(4, [("TCON", [3] + Array("17\08\0Own".utf8))])
        let out = folder.path("genres.flac")
        try Converted.file(path, to: out, as: AudioFormat(container: .flac))
        let run = try Run.program("metaflac", ["--show-tag=genre", out]).checked()
        let values = run.outputText.split(separator: "\n").map { String($0.drop { $0 != "=" }.dropFirst()) }
        #expect(values == ["Rock", "Jazz", "Own"])
    }

    /// A title of 305 bytes, whose size has eight bits per byte, as iTunes once wrote it.
    private var plainTitle: [UInt8] {
        Array("TIT2".utf8) + [0, 0, 1, 49, 0, 0, 3] + [UInt8](repeating: 0x78, count: 304)
    }

    @Test(arguments: [0, 2, 20]) func framesBehindPlainSizesOfITunesAreRead(padding: Int) throws {
        let path = folder.path("itunes.mp3")
        try Run.program("lame", ["--quiet", wav(), path]).checked()
        func frame(_ name: String, _ text: String) -> [UInt8] {
            let count = text.utf8.count + 1
            return Array(name.utf8) + [0, 0, UInt8(count >> 8), UInt8(count & 0xFF), 0, 0, 3] + Array(text.utf8)
        }
        var frames = plainTitle + frame("TPE1", "Ann\0Bob")
        frames += frame("TCON", "Rock\0Pop") + frame("TALB", String(repeating: "y", count: 199))
        frames += [UInt8](repeating: 0, count: padding)
        let head = Array("ID3".utf8) + [4, 0, 0] + ID3Number.bytes(frames.count)
        try Bytes.write(head + frames + Bytes.read(path), to: path)
        let tags = try tags(path)
        #expect(tags[.common("artist")] == ["Ann", "Bob"])
        #expect(tags[.common("genre")] == ["Rock", "Pop"])
        #expect(tags[.common("title")].map(\.count) == [304] && tags[.common("album")].map(\.count) == [199])
    }

    /// Sizes in such tags of ID3v2.3 count the bytes before zeros were put in.
    @Test func unsynchronisedTagsOfID3v23AreRead() throws {
        let path = folder.path("a.mp3")
        try Run.program("lame", ["--quiet", wav(), path]).checked()
        let text: [UInt8] = [1, 0xFF, 0xFE, 0xFF, 0, 0x42, 0]
        var plain = Array("TPE1".utf8) + [0, 0, 0, UInt8(text.count), 0, 0] + text
        plain += Array("TALB".utf8) + [0, 0, 0, 3, 0, 0, 0] + Array("Zz".utf8)
        // A zero goes behind each FF that a zero or a byte from E0 on follows.
        var stored: [UInt8] = []
        for (index, byte) in plain.enumerated() {
            stored.append(byte)
            let next = index + 1 < plain.count ? plain[index + 1] : 0
            if byte == 0xFF, next == 0 || next >= 0xE0 { stored.append(0) }
        }
        #expect(stored.count == plain.count + 2)
        let head = Array("ID3".utf8) + [3, 0, 0x80, 0, 0, 0, UInt8(stored.count)]
        try Bytes.write(head + stored + Bytes.read(path), to: path)
        let tags = try tags(path)
        #expect(tags[.common("artist")] == ["\u{FF}B"])
        #expect(tags[.common("album")] == ["Zz"])
    }

    @Test func listsOfPeopleAreReadByTheirRoles() throws {
        let people = Array("producer\0Ada\0mix\0Bob\0producer\0Cy\0tea\0Dan".utf8)
        let path = try mp3(4, [("TIPL", [3] + people), ("TMCL", [3] + Array("guitar\0Eve\0\0Fay".utf8))])
        let tags = try tags(path)
        #expect(tags[.common("producer")] == ["Ada", "Cy"])
        #expect(tags[.common("mixer")] == ["Bob"])
        #expect(tags[.common("performer")] == ["Dan (tea)", "Eve (guitar)", "Fay"])
        let old = try self.tags(mp3(3, [("IPLS", [0] + Array("producer\0Ada\0guitar\0Eve\0".utf8))]))
        #expect(old[.common("producer")] == ["Ada"])
        #expect(old[.common("performer")] == ["Eve (guitar)"])
        // libav's one word for such a list is not a tag.
        let out = folder.path("people.flac")
        try Converted.file(path, to: out, as: AudioFormat(container: .flac))
        let run = try Run.program("metaflac", ["--export-tags-to=-", out]).checked()
        let comments = Set(run.outputText.split(separator: "\n").map { $0.uppercased() })
        #expect(comments.isSuperset(of: ["PRODUCER=ADA", "PRODUCER=CY", "MIXER=BOB", "PERFORMER=FAY"]), "\(comments)")
        #expect(!comments.contains { $0.hasPrefix("TIPL") || $0.hasPrefix("TMCL") }, "\(comments)")
    }

    // MARK: What libav leaves out

    /// libav drops the ID3 tag of a WAV file that also has an INFO list.
    @Test func tagsOfWAVAreThoseOfBothOfItsLists() throws {
        let path = folder.path("both.wav")
        try FFmpeg.encode(wav(), to: path, ["-metadata", "title=Song"])
        func frame(_ name: String, _ text: String) -> [UInt8] {
            Array(name.utf8) + [0, 0, 0, UInt8(text.utf8.count + 1), 0, 0, 3] + Array(text.utf8)
        }
        let frames = frame("TPE1", "One\0Two") + frame("TSRC", "DEA061200001") + frame("TIT2", "Other")
        var tag = Array("ID3".utf8) + [4, 0, 0, 0, 0, 0, UInt8(frames.count)] + frames
        if tag.count % 2 == 1 { tag.append(0) }
        func little(_ value: Int) -> [UInt8] { bigEndianBytes(Int64(value), count: 4).reversed() }
        var bytes = try Bytes.read(path)
        bytes += Array("id3 ".utf8)
        bytes += little(tag.count)
        bytes += tag
        bytes.replaceSubrange(4..<8, with: little(bytes.count - 8))
        try Bytes.write(bytes, to: path)
        let out = folder.path("out.flac")
        try Converted.file(path, to: out, as: AudioFormat(container: .flac))
        let written = try FFmpeg.probe(out).tags
        let tags = Dictionary(written.map { ($0.key.lowercased(), $0.value) }) { first, _ in first }
        #expect(tags["artist"] == "One;Two")
        #expect(tags["isrc"] == "DEA061200001")
        #expect(tags["title"] == "Song")
    }

    /// A chunk of a WAV file with an ID3 tag.
    private func chunk(_ frames: [(String, String)]) -> [UInt8] {
        var body: [UInt8] = []
        for (name, text) in frames {
            body += Array(name.utf8) + bigEndianBytes(Int64(text.utf8.count + 1), count: 4)
            body += [0, 0, 3] + Array(text.utf8)
        }
        let tag = Array("ID3".utf8) + [4, 0, 0, 0, 0, 0, UInt8(body.count)] + body
        let size: [UInt8] = bigEndianBytes(Int64(tag.count), count: 4).reversed()
        return Array("id3 ".utf8) + size + tag + [UInt8](repeating: 0, count: tag.count % 2)
    }

    /// The chunk of the sound does not say where the next one begins. Outputs of more than 4 GiB are such files.
    @Test(arguments: [0xFFFF_FFFF, 0] as [UInt32]) func tagsBehindTheSoundOfRF64AreRead(size: UInt32) throws {
        let path = folder.path("large.wav")
        let plain = try Bytes.read(wav()) + chunk([("TPE1", "One\0Two"), ("TSRC", "DEA061200001")])
        try Bytes.write(RF64File.bytes(of: plain, stating: size), to: path)
        let tags = try tags(path)
        #expect(tags[.common("artist")] == ["One", "Two"])
        #expect(tags[.common("isrc")] == ["DEA061200001"])
    }

    /// Sound that looks like a tag is none, where the size of the sound is not known.
    @Test func soundOfRF64WithoutASizeIsNoTag() throws {
        let path = folder.path("unset.wav")
        var bytes = try RF64File.bytes(of: Bytes.read(wav()), stating: 0)
        let data = try #require(Bytes.find("data", in: bytes))
        let lure = chunk([("TPE1", "Nobody")])
        bytes.replaceSubrange((data + 8)..<(data + 8 + lure.count), with: lure)
        bytes.replaceSubrange(28..<36, with: [UInt8](repeating: 0, count: 8))
        try Bytes.write(bytes, to: path)
        let input = try OpenFile.reading(path)
        var collector = TagCollector()
        let source = try ByteSource(descriptor: input.descriptor, stop: StopSignal())
        WAV().collectTags(in: source, Int64(bytes.count), into: &collector)
        #expect(collector.tags.texts.isEmpty)
    }

    // MARK: Hostile files

    @Test func manyTagsBehindPlainSizesOfITunesAreHidden() throws {
        let path = folder.path("many.mp3")
        var bytes = try ManyTags.id3Frames.bytes(20_000)
        let size = Int(ID3Number.value(bytes[6..<10])) + plainTitle.count
        bytes.replaceSubrange(6..<10, with: ID3Number.bytes(size) + plainTitle)
        try Bytes.write(bytes, to: path)
        let input = try OpenFile.reading(path)
        #expect(try Reader(descriptor: input.descriptor, options: .init(nameHint: path)).demuxer.hidesTags)
    }

    @Test func manyTagsBehindTheSoundOfRF64AreHidden() throws {
        let (plain, many) = (try SampleFile.of(.wav).bytes, try ManyTags.waveID3.bytes(20_000))
        let path = folder.path("many.wav")
        // The tag lies behind the head of the file.
        let tag = many[12..<(12 + many.count - plain.count)]
        try Bytes.write(RF64File.bytes(of: plain + tag), to: path)
        let input = try OpenFile.reading(path)
        #expect(try Reader(descriptor: input.descriptor, options: .init(nameHint: path)).demuxer.hidesTags)
    }

    @Test(arguments: ManyTags.allCases) func tagsAreReadWithinLimits(_ many: ManyTags) throws {
        let path = folder.path(many.kind.fileName)
        try Bytes.write(many.bytes(20_000), to: path)
        let tags = try tags(path)
        #expect(tags.texts.count <= 1_000)
        #expect(tags.texts.reduce(0) { $0 + $1.values.count } <= TagCollector.mostValues)
    }

    /// No damage makes reading trap, or read more than the file has.
    @Test(arguments: ["mp3", "flac", "ogg", "m4a", "mka", "wma", "wv", "aiff"]) func damagedTagsAreRead(ext: String)
        throws
    {
        let path = folder.path("a." + ext)
        let aiff = ext == "aiff" ? ["-write_id3v2", "1"] : []
        try FFmpeg.encode(wav(), to: path, aiff + ["-metadata", "artist=Somebody", "-metadata", "mine=Else"])
        let clean = try Bytes.read(path)
        let letters: [UInt8] = ext == "wma" ? "Somebody".utf8.flatMap { [$0, 0] } : Array("Somebody".utf8)
        let spot = try #require(Bytes.find(letters, in: clean))
        let input = try OpenFile.reading(path)
        let rules = try Reader(descriptor: input.descriptor, options: .init(nameHint: path)).demuxer.rules
        var generator = SeededGenerator(seed: 44)
        for _ in 0..<200 {
            var bytes = clean
            for _ in 0..<generator.whole(in: 1..<4) {
                let place = min(max(0, spot + generator.whole(in: -48..<24)), bytes.count - 1)
                bytes[place] = UInt8(truncatingIfNeeded: generator.next())
            }
            try Bytes.write(bytes, to: path)
            let damaged = try OpenFile.reading(path)
            let source = try ByteSource(descriptor: damaged.descriptor, stop: StopSignal())
            var collector = TagCollector()
            rules.collectTags(in: source, Int64(bytes.count), into: &collector)
            let read = collector.tags.texts.flatMap(\.values).reduce(0) { $0 + $1.utf8.count }
            #expect(read <= 3 * bytes.count)
        }
    }
}
