import Conversion
import TestSupport
import Testing

@testable import Media

/// ID3 tags as `Media` writes them: in front of MP3 and ADTS, in a chunk of AIFF and WAV.
@Suite struct ID3TagTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private func wav(_ frames: Int = 4_410) throws -> String {
        let path = folder.path("sound.wav")
        try WAVFile.write(Signal.sweep(rate: 44_100, frames: frames).pcm(.s16), to: path)
        return path
    }

    private func own(_ path: String) throws -> Tags {
        let input = try OpenFile.reading(path)
        return try Reader(descriptor: input.descriptor, options: .init(nameHint: path)).demuxer.ownTags
    }

    // MARK: Bytes

    @Test func textsHaveTheEncodingOfTheVersion() {
        let tags = [Tag(key: "ARTIST", values: ["A", "Ž"])]
        let old: [UInt8] = [1, 0xFF, 0xFE, 0x41, 0, 0, 0, 0xFF, 0xFE, 0x7D, 1]
        #expect(ID3Tag(tags, version: 3).bytes == Self.tag(3, "TPE1", old))
        #expect(ID3Tag(tags, version: 4).bytes == Self.tag(4, "TPE1", [3, 0x41, 0, 0xC5, 0xBD]))
        let plain = [Tag(key: "title", value: "Song")]
        #expect(ID3Tag(plain, version: 3).bytes == Self.tag(3, "TIT2", [0] + Array("Song".utf8)))
    }

    /// Apple's mark has no value.
    @Test(arguments: [("1", true), ("0", false)]) func onlyPodcastsAreMarked(value: String, isMarked: Bool) {
        let tag = ID3Tag([Tag(key: "podcast", value: value)], version: 3)
        #expect(tag.isEmpty == !isMarked)
        if isMarked { #expect(tag.bytes == Self.tag(3, "PCST", [0, 0, 0, 0])) }
    }

    /// libav tells it behind the name of the lyrics. Comments have that of the recording.
    @Test(arguments: [("lyrics-deu", "deu"), ("lyrics-XXX", "fra"), ("lyrics", "fra"), ("lyrics-1", "fra")])
    func lyricsKeepTheirLanguage(key: String, language: String) {
        let tags = [
            Tag(key: key, value: "La"), Tag(key: "comment", value: "x"), Tag(key: "language", value: "fra"),
        ]
        let bytes = ID3Tag(tags, version: 3).bytes
        #expect(Bytes.find([0, 0, 0] + Array((language + "\0La").utf8), in: bytes) != nil)
        #expect(Bytes.find([0, 0, 0] + Array("fra\0x".utf8), in: bytes) != nil)
    }

    /// Sizes of frames use seven bits of a byte in ID3v2.4 only.
    @Test func sizesAreThoseOfTheVersion() {
        let tags = [Tag(key: "title", value: String(repeating: "x", count: 199))]
        let (old, new) = (ID3Tag(tags, version: 3), ID3Tag(tags, version: 4))
        #expect(Array(old.bytes[14..<18]) == [0, 0, 0, 200])
        #expect(Array(new.bytes[14..<18]) == [0, 0, 1, 72])
        // 200 bytes, the head of the frame, and ten bytes of padding.
        #expect(Array(old.bytes[6..<10]) == [0, 0, 1, 92] && old.bytes.count == 230)
    }

    /// A tag of one frame.
    private static func tag(_ version: UInt8, _ name: String, _ content: [UInt8]) -> [UInt8] {
        let size = UInt8(content.count)
        var tag: [UInt8] = Array("ID3".utf8) + [version, 0, 0, 0, 0, 0, size + 20]
        tag += Array(name.utf8) + [0, 0, 0, size, 0, 0]
        tag += content
        return tag + [UInt8](repeating: 0, count: 10)
    }

    // MARK: Files

    private static let tags: [String: String] = [
        "title": "Žluťoučký", "comment": "words", "lyrics": "La\nLo", "date": "1999-12-31", "tracknumber": "3/12",
        "isrc": "DEA061200001", "compilation": "1", "bpm": "120", "producer": "Ada", "performer": "Eve (guitar)",
        "license": "https://example.org/by", "musicbrainz_recordingid": "abc-1", "My Field": "me",
    ]

    @Test(arguments: ["mp3", "aiff", "wav", "aac"]) func allTagsAreRead(ext: String) throws {
        let path = folder.path("a." + ext)
        let container = try #require(Container.allCases.first { $0.fileExtensions.contains(ext) })
        let format = AudioFormat(container: container)
        let wished = Self.tags.mapValues { Recipe.TagValues($0) }
        let outcome = try Converted.file(wav(), to: path, as: format, verifies: true, tags: wished)
        #expect(outcome.summary.lostTags == [])
        let tags = try own(path)
        for (name, text) in Self.tags where name != "date" {
            let row = TagTable.row(key: name)
            let read = tags[row.map { TagName.common($0.name) } ?? TagName.custom(name)]
            let wanted = name == "tracknumber" ? "3" : text
            #expect(read == [wanted], "\(name)")
        }
        #expect(tags[.common("totaltracks")] == ["12"])
        #expect(tags[.common("date")] == [ext == "mp3" ? "1999" : "1999-12-31"])
        guard ext != "wav", ext != "aac" else { return }
        let probe = try FFmpeg.probe(path).tags
        #expect(probe["comment"] == "words" && probe["lyrics-eng"] == "La\nLo" && probe["compilation"] == "1")
        // libav puts the year together with the day.
        #expect(probe["date"] == "1999-12-31")
    }

    /// ID3v2.3 has a year, a day with its month, and a time in minutes.
    @Test(arguments: [
        ("2020-05", "2020"), ("2020-5-3", "2020"), ("2020-05-03T10:11:12", "2020-05-03 10:11"),
        ("2020-05-03 10", "2020-05-03"), ("2020-05-03 10:11", "2020-05-03 10:11"), ("2020", "2020"),
        ("May 2020", "May 2020"),
    ])
    func datesSurviveMP3(date: String, probed: String) throws {
        let (first, second, third) = (folder.path("a.mp3"), folder.path("b.mp3"), folder.path("c.flac"))
        try Converted.file(wav(), to: first, as: AudioFormat(container: .mp3), tags: ["date": "\(date)"])
        try Converted.file(first, to: second, as: AudioFormat(container: .mp3))
        try Converted.file(second, to: third, as: AudioFormat(container: .flac))
        #expect(try FFmpeg.probe(second).tags["date"] == probed)
        let run = try Run.program("metaflac", ["--show-tag=DATE", third]).checked()
        #expect(run.outputText.uppercased() == "DATE=\(date.uppercased())\n")
    }

    /// Tags of a WAV file that INFO cannot hold come out of it again.
    @Test func tagsSurviveWAV() throws {
        let (first, second) = (folder.path("a.wav"), folder.path("b.flac"))
        let sound = try wav()
        let wished = Self.tags.mapValues { Recipe.TagValues($0) }
        try Converted.file(sound, to: first, as: AudioFormat(container: .wav), tags: wished)
        try Converted.file(first, to: second, as: AudioFormat(container: .flac))
        let run = try Run.program("metaflac", ["--export-tags-to=-", second]).checked()
        let found = run.outputText.uppercased()
        for comment in ["ISRC=DEA061200001", "TRACKNUMBER=3", "TRACKTOTAL=12", "MY FIELD=ME", "PRODUCER=ADA"] {
            #expect(found.contains(comment + "\n"), "\(comment) in \(found)")
        }
        #expect(found.contains("MUSICBRAINZ_TRACKID=ABC-1\n"), "\(found)")
    }

    @Test(arguments: ["wav", "aiff"], [4_410, 4_411]) func sizesOfChunksAreRight(ext: String, frames: Int) throws {
        let path = folder.path("a." + ext)
        let format = AudioFormat(container: ext == "wav" ? .wav : .aiff, channelCount: 1, bitDepth: 8)
        try Converted.file(wav(frames), to: path, as: format, tags: ["mood": "x", "title": "even"])
        let bytes = try Bytes.read(path)
        let digits = ext == "wav" ? Array(bytes[4..<8].reversed()) : Array(bytes[4..<8])
        #expect(bigEndian(digits) == Int64(bytes.count - 8))
        let input = try OpenFile.reading(path)
        let source = try ByteSource(descriptor: input.descriptor, stop: StopSignal())
        let chunks: Chunks = ext == "wav" ? .riff : .iff
        #expect(chunks.areComplete(in: source))
        #expect(try own(path)[.common("mood")] == ["x"])
    }

    /// Files whose tags fit into the INFO list stay as small as they are.
    @Test func WAVHasNoFurtherTagWithoutNeed() throws {
        let path = folder.path("a.wav")
        try Converted.file(wav(), to: path, as: AudioFormat(container: .wav), tags: ["title": "Song", "track": "3/12"])
        #expect(try Bytes.find("id3 ", in: Bytes.read(path)) == nil)
    }

    @Test func streamsOfWAVLoseWhatTheirListCannotHold() throws {
        let shape = AudioShape(
            sampleRateHz: 48_000,
            channelCount: 2,
            layout: .stereo,
            bitDepth: 16,
            codecName: "pcm_s16le",
            isLossless: true
        )
        let format = try AudioFormat(container: .wav).resolved(for: shape)
        let tags = [Tag(key: "title", value: "Song"), Tag(key: "mood", value: "calm")]
        #expect(TagPlan(tags, in: format, inStream: true).lost == ["mood"])
        #expect(TagPlan(tags, in: format).lost == [])
    }

    /// A tag may make a file too large for RIFF. Nearly all of this file is a hole.
    @Test func largeWAVBecomesRF64() throws {
        let output = try OpenFile.creating(folder.path("large.wav"))
        let sink = try ByteSink(descriptor: output.descriptor)
        func little(_ value: Int64, _ count: Int) -> [UInt8] { bigEndianBytes(value, count: count).reversed() }
        let sound: Int64 = 1 << 32 - 80
        var head: [UInt8] = Array("RIFF".utf8)
        head += little(1 << 32 - 8, 4)
        head += Array("WAVEJUNK".utf8) + little(28, 4) + [UInt8](repeating: 0, count: 28)
        head += Array("fmt ".utf8) + little(16, 4)
        head += little(1, 2) + little(1, 2) + little(8_000, 4)
        head += little(8_000, 4) + little(1, 2) + little(8, 2)
        head += Array("data".utf8) + little(sound, 4)
        #expect(head.count == 80)
        try sink.patch(head, at: 0)
        try sink.patch([0], at: sound + 79)
        let tag = FurtherChunks.Chunk(name: "id3 ", content: [1, 2, 3])
        try FurtherChunks.append([tag], to: sink, .riff, frames: sound)
        #expect(try sink.bytes(at: 0, count: 8) == Array("RF64".utf8) + [0xFF, 0xFF, 0xFF, 0xFF])
        let sizes = Array("ds64".utf8) + little(28, 4) + little(sink.size - 8, 8)
        #expect(try sink.bytes(at: 12, count: 16) == sizes)
        #expect(try sink.bytes(at: 28, count: 16) == little(sound, 8) + little(sound, 8))
        #expect(try sink.bytes(at: 76, count: 4) == [0xFF, 0xFF, 0xFF, 0xFF])
        #expect(try sink.bytes(at: sound + 80, count: 4) == Array("id3 ".utf8))
    }
}
