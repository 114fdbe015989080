import Conversion
import TestSupport
import Testing

@testable import Media

/// Several values of a tag stay apart.
@Suite struct TagValuesTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    /// A FLAC file with these comments, made by another program.
    private func source(_ comments: [String]) throws -> String {
        let (sound, path) = (folder.path("sound.wav"), folder.path("source.flac"))
        try WAVFile.write(Signal.sweep(rate: 44_100, frames: 44_100).pcm(.s16), to: sound)
        try Run.program("flac", ["-s", sound, "-o", path] + comments.flatMap { ["-T", $0] }).checked()
        return path
    }

    private func convert(_ path: String, to name: String, codec: Codec? = nil, tags: [String: Recipe.TagValues] = [:])
        throws -> String
    {
        let out = folder.path(name)
        let container: Container = name.hasSuffix("flac") ? .flac : .ogg
        let format = AudioFormat(container: container, codec: codec)
        try Converted.file(path, to: out, as: format, verifies: true, tags: tags, refusesLoss: container == .flac)
        return out
    }

    /// The comments of a file, as its own tools print them.
    private func comments(_ path: String) throws -> [String] {
        let run: Run
        if path.hasSuffix("flac") {
            run = try Run.program("metaflac", ["--export-tags-to=-", path]).checked()
        } else if path.hasSuffix("opus") {
            run = try Run.program("opusinfo", [path]).checked()
        } else {
            run = try Run.program("vorbiscomment", ["-l", path]).checked()
        }
        return run.outputText.split(separator: "\n").map { String($0.drop { $0 == "\t" }) }
    }

    @Test(arguments: ["a.flac", "a.ogg", "a.opus"]) func valuesStayApart(name: String) throws {
        let wanted = ["ARTIST=One", "ARTIST=Two", "ARTIST=Three", "ALBUMARTIST=A", "ALBUMARTIST=B", "TITLE=Song"]
        let out = try convert(try source(wanted), to: name, codec: name == "a.opus" ? .opus : nil)
        let found = try comments(out)
        for (comment, count) in Dictionary(wanted.map { ($0, 1) }, uniquingKeysWith: +) {
            let times = found.count { $0 == comment }
            #expect(times == count, "\(comment) in \(found)")
        }
        let artists = found.filter { $0.hasPrefix("ARTIST=") }
        #expect(artists == ["ARTIST=One", "ARTIST=Two", "ARTIST=Three"])
        let joined = found.filter { $0.contains("=") && $0.contains("  ") }
        #expect(joined.isEmpty)
        if name == "a.flac" { try Run.program("flac", ["-ts", out]).checked() }
    }

    /// FLAC in Ogg has no tool for its comments. Only of several comments does libav make a text with semicolons.
    @Test func valuesStayApartInFLACInOgg() throws {
        let out = try convert(try source(["ARTIST=One", "ARTIST=Two"]), to: "a.oga", codec: .flac)
        let probe = try FFmpeg.probe(out)
        let tags = probe.tags.merging(probe.audio.first?.tags ?? [:]) { $1 }
        let artist = tags.first { $0.key.lowercased() == "artist" }?.value
        #expect(artist == "One;Two")
        try Run.program("flac", ["-ts", out]).checked()
    }

    /// libav reads one value of an item, so the bytes are compared with what Apple's format says.
    @Test func valuesStayApartInMP4() throws {
        let path = try source(["ARTIST=One", "ARTIST=Two", "MyField=a", "MyField=b", "TRACKNUMBER=1", "TRACKNUMBER=2"])
        let out = folder.path("a.m4a")
        let outcome = try Converted.file(path, to: out, as: AudioFormat(container: .m4a), verifies: true)
        func box(_ name: [UInt8], _ body: [UInt8]) -> [UInt8] {
            bigEndianBytes(Int64(body.count + 8), count: 4) + name + body
        }
        func data(_ text: String) -> [UInt8] { box(Array("data".utf8), [0, 0, 0, 1, 0, 0, 0, 0] + Array(text.utf8)) }
        let bytes = try Bytes.read(out)
        #expect(Bytes.find(box([0xA9] + Array("ART".utf8), data("One") + data("Two")), in: bytes) != nil)
        #expect(Bytes.find(data("a") + data("b"), in: bytes) != nil)
        let tags = try FFmpeg.probe(out).tags
        #expect(["One", "Two"].contains(tags["artist"] ?? ""))
        // An item of numbers has one.
        let told = try #require(outcome.remarks.first { $0.kind == .tagValues })
        #expect(told.detail == "tags with several values are carried over as one: track (2)")
        let input = try OpenFile.reading(out)
        let own = try Reader(descriptor: input.descriptor, options: .init(nameHint: out)).demuxer.ownTags
        #expect(own[.common("artist")] == ["One", "Two"])
        #expect(own[.custom("MyField")] == ["a", "b"])
    }

    /// WavPack's own tool prints a backslash between the values.
    @Test func valuesStayApartInWavPack() throws {
        let path = try source(["ARTIST=One", "ARTIST=Two", "ALBUMARTIST=All", "MyField=a", "MyField=b"])
        let out = folder.path("a.wv")
        let format = AudioFormat(container: .wavpack)
        let outcome = try Converted.file(path, to: out, as: format, verifies: true, refusesLoss: true)
        #expect(outcome.remarks.isEmpty)
        let run = try Run.program("wvtag", ["-q", "-l", out]).checked()
        let lines = run.outputText.split(separator: "\n")
        let hasArtists = lines.contains { $0.hasPrefix("Artist:") && $0.hasSuffix(" One\\Two") }
        let hasAlbumArtist = lines.contains { $0.hasPrefix("Album Artist:") && $0.hasSuffix(" All") }
        #expect(hasArtists && hasAlbumArtist, "\(lines)")
        let input = try OpenFile.reading(out)
        let own = try Reader(descriptor: input.descriptor, options: .init(nameHint: out)).demuxer.ownTags
        #expect(own[.custom("MyField")] == ["a", "b"])
        try Run.program("wvunpack", ["-q", "-v", out]).checked()
    }

    /// Tests/Terminal/test_tags.py has another program read such files.
    @Test(arguments: ["mp3", "aiff", "wav", "aac"]) func valuesStayApartInID3(ext: String) throws {
        let path = try source(["ARTIST=One", "ARTIST=Zwei ž", "MyField=a", "MyField=b", "COMMENT=x", "COMMENT=y"])
        let out = folder.path("a." + ext)
        let container = try #require(Container.allCases.first { $0.fileExtensions.contains(ext) })
        let format = AudioFormat(container: container)
        try Converted.file(path, to: out, as: format, verifies: true, refusesLoss: container == .wav)
        let input = try OpenFile.reading(out)
        let own = try Reader(descriptor: input.descriptor, options: .init(nameHint: out)).demuxer.ownTags
        #expect(own[.common("artist")] == ["One", "Zwei ž"])
        #expect(own[.custom("MyField")] == ["a", "b"])
        #expect(own[.common("comment")] == ["x", "y"])
    }

    /// The title stands elsewhere, where it has one value.
    @Test(arguments: ["a.mka", "a.webm"]) func valuesStayApartInMatroska(name: String) throws {
        let long = String(repeating: "y", count: 300)
        // Two tags with equal values, and names of one length.
        let equal = ["WRITER=a", "WRITER=b", "ENGINE=a", "ENGINE=b"]
        let artists = ["ARTIST=One", "ARTIST=Zwei ž", "ARTIST=" + long]
        let path = try source(artists + equal + ["My Field=a", "My Field=b", "MOOD=calm"])
        let out = folder.path(name)
        let format = AudioFormat(container: name == "a.mka" ? .mka : .webm)
        let outcome = try Converted.file(path, to: out, as: format, verifies: true)
        #expect(outcome.remarks.allSatisfy { $0.kind != .tagValues })
        let input = try OpenFile.reading(out)
        let own = try Reader(descriptor: input.descriptor, options: .init(nameHint: out)).demuxer.ownTags
        #expect(own[.common("artist")] == ["One", "Zwei ž", long])
        #expect(own[.custom("MY_FIELD")] == ["a", "b"])
        #expect(own[.custom("ENGINE")] == ["a", "b"] && own[.common("writer")] == ["a", "b"])
        #expect(own[.common("mood")] == ["calm"])
        let artist = try #require(try FFmpeg.probe(out).tags["ARTIST"])
        #expect(["One", "Zwei ž", long].contains(artist))
    }

    @Test func titlesOfMatroskaBecomeOneText() throws {
        let path = try source(["TITLE=One", "TITLE=Two"])
        let out = folder.path("a.mka")
        let outcome = try Converted.file(path, to: out, as: AudioFormat(container: .mka))
        #expect(outcome.remarks.contains { $0.kind == .tagValues && $0.count == 1 })
        #expect(try FFmpeg.probe(out).tags["title"] == "One;Two")
    }

    @Test func checksumIsThatOfZip() {
        #expect(MatroskaValues.checksum(Array("123456789".utf8)) == 0xCBF4_3926)
    }

    @Test func copiedPacketsHaveThemToo() throws {
        let out = try convert(try source(["ARTIST=One", "ARTIST=Two"]), to: "copy.flac", codec: .copy)
        let artists = try comments(out).filter { $0.hasPrefix("ARTIST=") }
        #expect(artists == ["ARTIST=One", "ARTIST=Two"])
    }

    /// The comments reach over several pages, whose checksums change.
    @Test(arguments: ["many.opus", "many.ogg"]) func manyValuesFillSeveralPages(name: String) throws {
        let values = (0..<3_000).map { "ARTIST=" + String(repeating: "x", count: 20 + $0 % 61) + "\($0)" }
        let list = folder.path("tags.txt")
        try Bytes.write(Array((values.joined(separator: "\n") + "\n").utf8), to: list)
        let path = try source([])
        try Run.program("metaflac", ["--import-tags-from=" + list, path]).checked()
        let out = try convert(path, to: name, codec: name.hasSuffix("opus") ? .opus : nil)
        let artists = try comments(out).filter { $0.hasPrefix("ARTIST=") }
        #expect(artists == values)
    }

    @Test func tagsOfTheCallerReplaceAllValues() throws {
        let out = try convert(try source(["ARTIST=One", "ARTIST=Two"]), to: "mine.flac", tags: ["artist": "Mine"])
        let artists = try comments(out).filter { $0.lowercased().hasPrefix("artist=") }
        #expect(artists == ["artist=Mine"])
    }

    /// The report tells of the values that one text holds, also of tags that the source does not have.
    @Test func callersSetSeveralValues() throws {
        let tags: [String: Recipe.TagValues] = [
            "ARTIST": .init(["Ada", "Bob"]), "MOOD": .init(["", "calm"]), "TITLE": "",
        ]
        let path = try source(["ARTIST=One", "TITLE=Song"])
        let found = try comments(try convert(path, to: "mine.flac", tags: tags)).filter { $0.contains("=") }
        #expect(found.filter { $0.hasPrefix("ARTIST=") } == ["ARTIST=Ada", "ARTIST=Bob"])
        #expect(found.contains("MOOD=calm") && !found.contains { $0.hasPrefix("TITLE") })
        let (list, caf) = (folder.path("list.caf"), AudioFormat(container: .caf))
        let outcome = try Converted.file(path, to: list, as: caf, tags: tags)
        let told = try #require(outcome.remarks.first { $0.kind == .tagValues })
        #expect(told.detail == "tags with several values are carried over as one: artist (2)")
        let tagsOfCAF = try FFmpeg.probe(list).tags
        #expect(tagsOfCAF.first { $0.key.lowercased() == "artist" }?.value == "Ada;Bob")
    }

    /// libav keeps the last of two tags that become one comment. So do several values.
    @Test func ofTwoTagsWithOneNameTheLastCounts() {
        let several = Tag(key: "album_artist", values: ["A", "B"])
        let one = Tag(key: "ALBUMARTIST", value: "C")
        #expect(CommentValues.joined([several, one]) == [one])
        #expect(CommentValues.joined([one, several]).map(\.key) == ["album_artist"])
    }

    /// Each byte of the comments is for itself in the file, as the last of a page and the first of the next one may be.
    @Test func lengthsAreWrittenAcrossPieces() throws {
        let tag = Tag(key: "artist", values: ["One", "", "Three"])
        let joined = try #require(CommentValues.joined([tag]).first)
        func little(_ value: Int) -> [UInt8] { bigEndianBytes(Int64(value), count: 4).reversed() }
        let comment = Array(("artist=" + joined.value).utf8)
        let other = Array("title=Song".utf8)
        var block = little(2) + Array("me".utf8)
        block += little(2) + little(other.count) + other
        block += little(comment.count) + comment
        let path = folder.path("block")
        try Bytes.write(block.flatMap { [$0, 0xEE] }, to: path)
        let input = try OpenFile.reading(path)
        let source = try ByteSource(descriptor: input.descriptor, stop: StopSignal())
        let pieces = block.indices.map { Int64(2 * $0)..<Int64(2 * $0 + 1) }
        let spliced = SplicedBytes(source, pieces)
        let changes = try #require(CommentValues.division(of: [tag], in: spliced))
        for change in changes {
            for (offset, byte) in change.bytes.enumerated() { block[Int(change.place) + offset] = byte }
        }
        var wanted = little(2) + Array("me".utf8)
        wanted += little(4)
        for text in ["title=Song", "artist=One", "artist=", "artist=Three"] {
            wanted += little(text.utf8.count) + Array(text.utf8)
        }
        #expect(block == wanted)
        #expect(CommentValues.division(of: [Tag(key: "artist", values: ["One", "Two"])], in: spliced) == nil)
    }
}
