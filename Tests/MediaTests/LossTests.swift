import Conversion
import TestSupport
import Testing

@testable import Media

/// A remark reports every loss from source to output, or the conversion refuses it on request.
@Suite struct LossTests {
    /// The remarks of a conversion of the file at `path`.
    private func remarks(
        _ path: String,
        as format: AudioFormat,
        tags: [String: Recipe.TagValues] = [:]
    ) throws -> [Remark] {
        let folder = try TemporaryFolder.create()
        return try Converted.file(path, to: folder.path("out"), as: format, tags: tags).remarks
    }

    /// The tags that the file at `path` has as FLAC, by their names in lower case.
    private func written(_ path: String) throws -> [String: String] {
        let folder = try TemporaryFolder.create()
        try Converted.file(path, to: folder.path("out.flac"), as: AudioFormat(container: .flac))
        let tags = try FFmpeg.probe(folder.path("out.flac")).tags
        return Dictionary(tags.map { ($0.key.lowercased(), $0.value) }) { first, _ in first }
    }

    private func wav(in folder: TemporaryFolder) throws -> String {
        let path = folder.path("sound.wav")
        try WAVFile.write(Signal.sweep(rate: 44_100, frames: 44_100).pcm(.s16), to: path)
        return path
    }

    // MARK: Chapters

    @Test(arguments: ["m4a", "mka", "mp3", "opus"]) func chaptersAreToldToBeLost(ext: String) throws {
        let folder = try TemporaryFolder.create()
        let list = folder.path("chapters.txt")
        let chapters = ["0\nEND=400\ntitle=One", "400\nEND=900\ntitle=Two"]
        let text = ";FFMETADATA1\n" + chapters.map { "[CHAPTER]\nTIMEBASE=1/1000\nSTART=\($0)\n" }.joined()
        try Bytes.write(Array(text.utf8), to: list)
        let path = folder.path("book." + ext)
        try FFmpeg.encode(wav(in: folder), to: path, ["-i", list, "-map", "0:a", "-map_chapters", "1"])
        let found = try remarks(path, as: AudioFormat(container: .w64))
        let lost = try #require(found.first { $0.kind == .chapters })
        #expect(lost.count == 2)
        #expect(lost.detail == "2 chapters were not carried over")
        #expect(lost.brief == "2 chapters lost")
    }

    /// Only what divides the output can be lost: part of one chapter has no chapters.
    @Test(arguments: [
        ["0 0.4"], ["0.4 0.9"], ["0.45 0.5"], ["0.41 0.5", "0.6 0.7"], ["0.3 0.5"], ["0 0.1", "0.5 0.6"], ["0 1"],
    ])
    func aPartOfOneChapterLosesNone(parts: [String]) throws {
        let folder = try TemporaryFolder.create()
        let list = folder.path("chapters.txt")
        let chapters = ["0\nEND=400\ntitle=One", "400\nEND=1000\ntitle=Two"]
        let text = ";FFMETADATA1\n" + chapters.map { "[CHAPTER]\nTIMEBASE=1/1000\nSTART=\($0)\n" }.joined()
        try Bytes.write(Array(text.utf8), to: list)
        let path = folder.path("book.mka")
        try FFmpeg.encode(wav(in: folder), to: path, ["-i", list, "-map", "0:a", "-map_chapters", "1"])
        var request = Converter.Request(format: AudioFormat(container: .w64))
        request.ranges = try parts.map { part in
            let ends = try part.split(separator: " ").map { try MediaTime(parsing: String($0)) }
            return try MediaTimeRange(start: ends[0], end: ends[1])
        }
        let source = try OpenFile.reading(path)
        let destination = try OpenFile.creating(folder.path("part.w64"))
        let outcome = try Converter(request).run(from: source.descriptor, to: destination.descriptor)
        let lost: Int64 = ["0.3 0.5", "0 0.1", "0 1"].contains(parts[0]) ? 2 : 0
        #expect((outcome.remarks.first { $0.kind == .chapters }?.count ?? 0) == lost)
    }

    @Test func sourceThatLosesNothingHasNoRemarks() throws {
        let folder = try TemporaryFolder.create()
        let path = try wav(in: folder)
        #expect(try remarks(path, as: AudioFormat(container: .flac)) == [])
        #expect(
            try Converted.file(path, to: folder.path("o"), as: .init(container: .flac), refusesLoss: true).remarks == []
        )
    }

    // MARK: Values of tags

    @Test(arguments: ["flac", "ogg", "opus", "oga"]) func furtherValuesOfCommentsAreTold(kind: String) throws {
        let folder = try TemporaryFolder.create()
        let (sound, path) = (try wav(in: folder), folder.path("a." + kind))
        let names = ["ARTIST=One", "Artist=Two", "ARTIST=Three", "TITLE=Song", "GENRE=a", "GENRE=b"]
        switch kind {
        case "ogg": try Run.program("oggenc", ["-Q", sound, "-o", path] + names.flatMap { ["-c", $0] }).checked()
        case "opus":
            try Run.program("opusenc", ["--quiet"] + names.flatMap { ["--comment", $0] } + [sound, path]).checked()
        default:
            let ogg = kind == "oga" ? ["--ogg"] : []
            try Run.program("flac", ogg + ["-s", sound, "-o", path] + names.flatMap { ["-T", $0] }).checked()
        }
        let told = try #require(try remarks(path, as: AudioFormat(container: .caf)).first { $0.kind == .tagValues })
        #expect(told.count == 3)
        #expect(told.detail == "tags with several values are carried over as one: artist (3), genre (2)")
        let kept = try remarks(path, as: AudioFormat(container: .flac))
        #expect(kept.allSatisfy { $0.kind != .tagValues })
    }

    /// Comments after a picture of many pages are found as well.
    @Test func valuesBehindALargePictureAreTold() throws {
        let folder = try TemporaryFolder.create()
        let path = folder.path("a.opus")
        let picture = try Covered.picture(.png) + [UInt8](repeating: 7, count: 300_000)
        try Bytes.write(picture, to: folder.path("p.png"))
        let words = ["--picture", folder.path("p.png"), "--artist", "One", "--artist", "Two"]
        try Run.program("opusenc", ["--quiet"] + words + [wav(in: folder), path]).checked()
        #expect(
            try remarks(path, as: AudioFormat(container: .caf)).contains { $0.kind == .tagValues && $0.count == 1 }
        )
    }

    @Test(arguments: [3, 4] as [UInt8]) func furtherValuesOfID3AreTold(version: UInt8) throws {
        let folder = try TemporaryFolder.create()
        let path = folder.path("a.mp3")
        try Run.program("lame", ["--quiet", wav(in: folder), path]).checked()
        func frame(_ name: String, _ text: [UInt8]) -> [UInt8] {
            Array(name.utf8) + bigEndianBytes(Int64(text.count), count: 4) + [0, 0] + text
        }
        let latin = [3] + Array("One\0Two\0Three".utf8)
        let wide: [UInt8] = [1, 0xFF, 0xFE, 0x41, 0, 0, 0, 0xFF, 0xFE, 0x42, 0]
        let frames =
            frame("TPE1", latin) + frame("TCON", wide) + frame("TIT2", [3] + Array("Song\0".utf8))
            + frame("TXXX", [3] + Array("MOOD\0calm".utf8)) + frame("TXXX", [3] + Array("mood\0slow".utf8))
        let head = Array("ID3".utf8) + [version, 0, 0, 0, 0, UInt8(frames.count >> 7), UInt8(frames.count & 0x7F)]
        try Bytes.write(head + frames + Bytes.read(path), to: path)
        let told = try #require(try remarks(path, as: AudioFormat(container: .caf)).first { $0.kind == .tagValues })
        #expect(told.detail == "tags with several values are carried over as one: artist (3), genre (2), mood (2)")
        let tags = try written(path)
        #expect([tags["artist"], tags["genre"], tags["mood"]] == ["One;Two;Three", "A;B", "calm;slow"])
        // Values of a tag that the caller sets are not lost.
        let set: [String: Recipe.TagValues] = ["Artist": "Mine", "genre": "mine", "MOOD": ""]
        #expect(try remarks(path, as: AudioFormat(container: .caf), tags: set).allSatisfy { $0.kind != .tagValues })
    }

    @Test(arguments: [false, true]) func furtherValuesOfAPEAreTold(hasID3v1: Bool) throws {
        let folder = try TemporaryFolder.create()
        let path = folder.path("a.wv")
        try Run.program("wavpack", ["-q", wav(in: folder), "-o", path]).checked()
        func item(_ name: String, _ value: String, flags: UInt8 = 0) -> [UInt8] {
            little(value.utf8.count) + [flags, 0, 0, 0] + Array(name.utf8) + [0] + Array(value.utf8)
        }
        let items = item("Artist", "One\0Two") + item("Title", "Song") + item("Data", "a\0b", flags: 2)
        let footer = Array("APETAGEX".utf8) + little(2000) + little(items.count + 32) + little(3) + little(0)
        let id3v1 = hasID3v1 ? Array("TAG".utf8) + [UInt8](repeating: 0, count: 125) : []
        try Bytes.write(Bytes.read(path) + items + footer + [UInt8](repeating: 0, count: 8) + id3v1, to: path)
        let told = try #require(try remarks(path, as: AudioFormat(container: .caf)).first { $0.kind == .tagValues })
        #expect(told.detail == "tags with several values are carried over as one: artist (2)")
        #expect(try written(path)["artist"] == "One;Two")
    }

    @Test func furtherValuesOfMP4AreTold() throws {
        let folder = try TemporaryFolder.create()
        let path = folder.path("a.m4a")
        try FFmpeg.encode(wav(in: folder), to: path, ["-metadata", "artist=One"])
        var bytes = try Bytes.read(path)
        let artist = try #require(Bytes.find("\u{A9}ART".unicodeScalars.map { UInt8($0.value) }, in: bytes)) - 4
        let size = Int(bigEndian(bytes[artist..<(artist + 4)]))
        let data = Array(bytes[(artist + 8)..<(artist + size)])
        bytes.insert(contentsOf: data, at: artist + size)
        // Every enclosing box grows. The index lies after the sound, so no sound moves.
        for name in ["moov", "udta", "meta", "ilst"] {
            let box = try #require(Bytes.find(name, in: bytes)) - 4
            grow(&bytes, at: box, by: data.count)
        }
        grow(&bytes, at: artist, by: data.count)
        try Bytes.write(bytes, to: path)
        let told = try #require(try remarks(path, as: AudioFormat(container: .caf)).first { $0.kind == .tagValues })
        #expect(told.detail == "tags with several values are carried over as one: artist (2)")
    }

    /// libav writes each name once, so the test overwrites the second name with the letters of the first.
    @Test(arguments: ["mka", "wma"]) func furtherValuesOfMatroskaAndASFAreTold(ext: String) throws {
        let folder = try TemporaryFolder.create()
        let path = folder.path("a." + ext)
        try FFmpeg.encode(wav(in: folder), to: path, ["-metadata", "MOODA=One", "-metadata", "MOODB=Two"])
        var bytes = try Bytes.read(path)
        let wide = ext == "wma"
        func letters(_ text: String) -> [UInt8] { text.utf8.flatMap { wide ? [$0, 0] : [$0] } }
        let place = try #require(Bytes.find(letters("MOODB"), in: bytes))
        bytes.replaceSubrange(place..<(place + letters("MOODA").count), with: letters("MOODA"))
        try Bytes.write(bytes, to: path)
        let told = try #require(try remarks(path, as: AudioFormat(container: .caf)).first { $0.kind == .tagValues })
        #expect(told.detail == "tags with several values are carried over as one: mooda (2)")
        // libav writes tags in an order of its own.
        #expect(try ["One;Two", "Two;One"].contains(written(path)["mooda"]))
    }

    private func grow(_ bytes: inout [UInt8], at box: Int, by count: Int) {
        let size = bigEndian(bytes[box..<(box + 4)]) + Int64(count)
        bytes.replaceSubrange(box..<(box + 4), with: bigEndianBytes(size, count: 4))
    }

    private func little(_ value: Int) -> [UInt8] { bigEndianBytes(Int64(value), count: 4).reversed() }

    // MARK: Covers

    /// A picture that is no PNG or JPEG counts among the first 64.
    @Test(arguments: [
        (65, false, "1 picture was not carried over: only the first 64 are read"),
        (1, true, "1 picture was not carried over: outputs can hold only PNG and JPEG"),
        (
            65, true,
            "3 pictures were not carried over: outputs can hold only PNG and JPEG, and only the first 64 are read"
        ),
    ])
    func reasonsForLostPicturesAreTold(count: Int, hasOther: Bool, detail: String) throws {
        let folder = try TemporaryFolder.create()
        let (plain, path) = (folder.path("plain.mp3"), folder.path("pictures.mp3"))
        try Run.program("lame", ["--quiet", wav(in: folder), plain]).checked()
        let png = try Covered.picture(.png)
        let gif = Array("GIF89a\u{1}\0\u{1}\0\0\0\0".utf8)
        var frames: [UInt8] = []
        for index in 0..<(count + (hasOther ? 1 : 0)) {
            let isOther = hasOther && index == 0
            let type = isOther ? "image/gif" : "image/png"
            let head: [UInt8] = [0] + Array(type.utf8) + [0, 3, 0]
            let content: [UInt8] = head + (isOther ? gif : png)
            frames += Array("APIC".utf8) + bigEndianBytes(Int64(content.count), count: 4) + [0, 0]
            frames += content
        }
        let size = (0..<4).map { UInt8(truncatingIfNeeded: frames.count >> (21 - 7 * $0) & 0x7F) }
        var bytes: [UInt8] = Array("ID3".utf8) + [3, 0, 0]
        bytes += size + frames
        try Bytes.write(bytes + Bytes.read(plain), to: path)
        let found = try remarks(path, as: AudioFormat(container: .flac)).filter { $0.kind == .cover }
        #expect(found.map(\.detail) == [detail])
    }

    @Test func furtherPicturesAreToldWhereTheyHaveNoPlace() throws {
        let folder = try TemporaryFolder.create()
        let path = folder.path("a.flac")
        try Bytes.write(Covered.picture(.png), to: folder.path("a.png"))
        try Bytes.write(Covered.picture(.jpg), to: folder.path("b.jpg"))
        let pictures = ["--picture=" + folder.path("a.png"), "--picture=4||||" + folder.path("b.jpg")]
        try Run.program("flac", ["-s"] + pictures + [wav(in: folder), "-o", path]).checked()
        #expect(try remarks(path, as: AudioFormat(container: .flac)) == [])
        let told = try remarks(path, as: AudioFormat(container: .caf))
        #expect(told.map(\.kind) == [.cover, .cover])
        #expect(told.contains { $0.detail == "1 picture was not carried over: CAF holds none" }, "\(told)")
    }

    // MARK: No tags

    /// What was not wanted is not lost.
    @Test(arguments: [Container.wav, .w64, .m4a]) func tagsThatAreNotWantedAreNotThere(container: Container) throws {
        let folder = try TemporaryFolder.create()
        let path = folder.path("out")
        let source = try OpenFile.reading(Covered.flac())
        let output = try OpenFile.creating(path)
        var request = Converter.Request(format: AudioFormat(container: container), tags: ["title": "Mine"])
        (request.dropsTags, request.refusesLoss) = (true, container != .w64)
        let outcome = try Converter(request).run(from: source.descriptor, to: output.descriptor)
        #expect(outcome.remarks.map(\.detail) == (container == .w64 ? ["W64 cannot store: title"] : []))
        let description = try Decoded.file(path).description
        let names = Set(description.tags.filter { !$0.isTechnical }.map { $0.key.lowercased() })
        #expect(names == (container == .w64 ? [] : ["title"]))
        #expect(description.pictures.isEmpty)
    }

    // MARK: Strictness

    @Test func strictnessRefusesEveryLossAndWritesNothing() throws {
        let folder = try TemporaryFolder.create()
        let source = try Covered.flac()
        for (container, said) in [(Container.au, "AU cannot store"), (.w64, "W64 cannot store")] {
            let error = #expect(throws: MediaError.self) {
                try Converted.file(source, to: folder.path("o"), as: .init(container: container), refusesLoss: true)
            }
            #expect(error?.code == .lossRefused)
            #expect(error?.detail.hasPrefix(said) == true)
        }
        let whole = try Converted.file(source, to: folder.path("p"), as: .init(container: .flac), refusesLoss: true)
        #expect(whole.remarks == [])
    }

    @Test func lossesComeBeforeOtherRemarks() {
        let remarks = [Remark(.partialFrame, "a"), Remark(.cover, "b"), Remark(.layoutAssumed, "c")]
        #expect(remarks.lossesFirst.map(\.detail) == ["b", "a", "c"])
    }
}
