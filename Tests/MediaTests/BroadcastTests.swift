import Conversion
import TestSupport
import Testing

@testable import Media

/// What recorders and broadcasters say in WAV, as ffprobe and raw bytes show it.
@Suite struct BroadcastTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private static let iXML = Array("<BWFXML><TAKE>7</TAKE></BWFXML>".utf8)

    /// Two seconds of sound that began ten seconds behind midnight. `version` is that of `bext`.
    private func source(version: UInt8 = 1) throws -> String {
        let (sound, path) = (folder.path("sound.wav"), folder.path("take.wav"))
        try WAVFile.write(Signal.sweep(rate: 44_100, frames: 88_200).pcm(.s16), to: sound)
        let fields = ["description=A take", "originator=Ada", "origination_date=2026-11-29", "time_reference=441000"]
        try FFmpeg.encode(sound, to: path, ["-write_bext", "1"] + fields.flatMap { ["-metadata", $0] })
        var bytes = try Bytes.read(path)
        func little(_ value: Int) -> [UInt8] { bigEndianBytes(Int64(value), count: 4).reversed() }
        let place = try #require(Bytes.find("bext", in: bytes)) + 8
        bytes[place + 346] = version
        for index in 412..<422 { bytes[place + index] = 0x11 }
        bytes += Array("iXML".utf8) + little(Self.iXML.count)
        bytes += Self.iXML + [0]
        bytes.replaceSubrange(4..<8, with: little(bytes.count - 8))
        try Bytes.write(bytes, to: path)
        return path
    }

    /// The content of a chunk; `nil` if there is none.
    private func chunk(_ name: String, of path: String) throws -> [UInt8]? {
        let input = try OpenFile.reading(path)
        let source = try ByteSource(descriptor: input.descriptor, stop: StopSignal())
        return Chunks.riff.first(name, in: source).flatMap { source.bytes(at: $0.place, count: Int($0.size)) }
    }

    @Test func chunksAreKeptAsTheyAre() throws {
        let (path, out) = (try source(version: 2), folder.path("out.wav"))
        try Converted.file(path, to: out, as: AudioFormat(container: .wav), verifies: true, refusesLoss: true)
        #expect(try chunk("bext", of: out) == chunk("bext", of: path))
        #expect(try chunk("iXML", of: out) == Self.iXML)
        // The same is not said twice.
        #expect(try chunk("id3 ", of: out) == nil)
        let tags = try FFmpeg.probe(out).tags
        #expect(tags["time_reference"] == "441000" && tags["comment"] == "A take" && tags["encoded_by"] == "Ada")
    }

    @Test func chunksBehindTheSoundOfRF64AreKept() throws {
        let (path, large, out) = (try source(version: 2), folder.path("large.wav"), folder.path("out.wav"))
        let (bext, sound) = (try #require(try chunk("bext", of: path)), folder.path("sound.wav"))
        let size: [UInt8] = bigEndianBytes(Int64(bext.count), count: 4).reversed()
        let length: [UInt8] = bigEndianBytes(Int64(Self.iXML.count), count: 4).reversed()
        var bytes = try Bytes.read(sound)
        bytes += Array("bext".utf8) + size + bext
        bytes += [UInt8](repeating: 0, count: bext.count % 2)
        bytes += Array("iXML".utf8) + length + Self.iXML + [0]
        try Bytes.write(RF64File.bytes(of: bytes), to: large)
        try Converted.file(large, to: out, as: AudioFormat(container: .wav), verifies: true, refusesLoss: true)
        #expect(try chunk("bext", of: out) == bext && chunk("iXML", of: out) == Self.iXML)
    }

    @Test func partsBeginLater() throws {
        let (path, out) = (try source(version: 2), folder.path("part.wav"))
        let second = MediaTime(value: 1, timescale: 1)
        let range = try MediaTimeRange(start: second, end: MediaTime(value: 2, timescale: 1))
        try Converted.file(path, to: out, as: AudioFormat(container: .wav), ranges: [range])
        #expect(try FFmpeg.probe(out).tags["time_reference"] == "485100")
        #expect(try chunk("iXML", of: out) == nil)
        let bext = try #require(try chunk("bext", of: out))
        #expect(Array(bext[412..<422]) == [0xFF, 0x7F, 0xFF, 0x7F, 0xFF, 0x7F, 0xFF, 0x7F, 0xFF, 0x7F])
    }

    /// A history of codings may make the chunk too long. Its fields stay as tags.
    @Test func fieldsOfAChunkThatIsLeftOutAreTags() throws {
        let (path, out) = (try source(), folder.path("long.wav"))
        func little(_ value: Int) -> [UInt8] { bigEndianBytes(Int64(value), count: 4).reversed() }
        var bytes = try Bytes.read(path)
        let place = try #require(Bytes.find("bext", in: bytes))
        let size = Int(littleEndian(bytes[(place + 4)..<(place + 8)]))
        let more = [UInt8](repeating: 0x41, count: 1 << 20)
        bytes.insert(contentsOf: more, at: place + 8 + size)
        bytes.replaceSubrange((place + 4)..<(place + 8), with: little(size + more.count))
        bytes.replaceSubrange(4..<8, with: little(bytes.count - 8))
        try Bytes.write(bytes, to: path)
        try Converted.file(path, to: out, as: AudioFormat(container: .wav))
        #expect(try chunk("bext", of: out) == nil)
        #expect(try chunk("iXML", of: out) == Self.iXML)
        let output = try OpenFile.reading(out)
        let tags = try Reader(descriptor: output.descriptor, options: .init(nameHint: out)).description.tags
        #expect(tags.first { $0.key.lowercased() == "time_reference" }?.value == "441000")
        // A change of tags would lose it.
        let input = try OpenFile.reading(path)
        let reader = try Reader(descriptor: input.descriptor, options: .init(nameHint: path))
        #expect(reader.unreadParts.names == ["chunk bext"])
    }

    /// The chunk must not contradict the tags of the file that gives them.
    @Test func fieldsThatAnotherFileStatesAreEmpty() throws {
        let (path, out) = (try source(), folder.path("other.wav"))
        let input = try OpenFile.reading(path)
        let output = try OpenFile.creating(out)
        var request = Converter.Request(format: AudioFormat(container: .wav), nameHint: path)
        let comment = Tag(key: "comment", value: "Mine")
        request.tagged = SourceDescription(
            container: "flac",
            tracks: [],
            tags: [comment],
            chapters: [],
            pictures: []
        )
        _ = try Converter(request).run(from: input.descriptor, to: output.descriptor)
        let bext = try #require(try chunk("bext", of: out))
        #expect(bext[..<256].allSatisfy { $0 == 0 } && bext[256..<259].elementsEqual("Ada".utf8))
    }

    /// A channel that is played by two loudspeakers is louder.
    @Test(arguments: [(2, true), (1, false)]) func mixedChannelsHaveNoLoudness(channels: Int, isMixed: Bool) throws {
        let (path, out) = (try source(version: 2), folder.path("mixed.wav"))
        try Converted.file(path, to: out, as: AudioFormat(container: .wav, channelCount: channels))
        let bext = try #require(try chunk("bext", of: out))
        let none: [UInt8] = [0xFF, 0x7F, 0xFF, 0x7F, 0xFF, 0x7F, 0xFF, 0x7F, 0xFF, 0x7F]
        #expect(Array(bext[412..<422]) == (isMixed ? none : [UInt8](repeating: 0x11, count: 10)))
    }

    @Test func anotherRateCountsOtherFrames() throws {
        let (path, out) = (try source(), folder.path("slow.wav"))
        try Converted.file(path, to: out, as: AudioFormat(container: .wav, sampleRateHz: 22_050))
        #expect(try FFmpeg.probe(out).tags["time_reference"] == "220500")
    }

    @Test func tagsOfTheCallerReplaceFields() throws {
        let (path, out) = (try source(), folder.path("mine.wav"))
        try Converted.file(path, to: out, as: AudioFormat(container: .wav), tags: ["Comment": "Mine", "encodedby": ""])
        let bext = try #require(try chunk("bext", of: out))
        #expect(bext[..<288].allSatisfy { $0 == 0 })
        let tags = try FFmpeg.probe(out).tags
        #expect(tags["comment"] == "Mine" && tags["encoded_by"] == nil && tags["date"] == "2026-11-29")
    }

    @Test func outputsWithoutTagsHaveNone() throws {
        let (path, out) = (try source(), folder.path("bare.wav"))
        let input = try OpenFile.reading(path)
        let output = try OpenFile.creating(out)
        var request = Converter.Request(format: AudioFormat(container: .wav))
        request.dropsTags = true
        _ = try Converter(request).run(from: input.descriptor, to: output.descriptor)
        #expect(try chunk("bext", of: out) == nil && chunk("iXML", of: out) == nil)
    }

    @Test func otherContainersHaveThemAsTags() throws {
        let (path, out) = (try source(), folder.path("take.flac"))
        try Converted.file(path, to: out, as: AudioFormat(container: .flac))
        let tags = try FFmpeg.probe(out).tags
        let reference = tags.first { $0.key.lowercased() == "time_reference" }?.value
        #expect(reference == "441000")
    }

    /// Chunks that are too short or too long, and a number of frames that is none.
    @Test func hostileChunksAreLeftAlone() throws {
        func adapted(_ bext: [UInt8], _ size: Int? = nil) throws -> [UInt8]? {
            let path = folder.path("hostile.wav")
            let length: [UInt8] = bigEndianBytes(Int64(size ?? bext.count), count: 4).reversed()
            try Bytes.write(Array("RIFF\0\0\0\0WAVEbext".utf8) + length + bext, to: path)
            let input = try OpenFile.reading(path)
            let source = try ByteSource(descriptor: input.descriptor, stop: StopSignal())
            let part = BroadcastChunks.Part(start: .zero, sourceRate: 44_100, outputRate: 48_000, isAsLoud: true)
            return BroadcastChunks(in: source)?.chunks(for: part, replacing: []).first?.content
        }
        let zeros = [UInt8](repeating: 0, count: 602)
        #expect(try adapted(zeros) == zeros)
        #expect(try adapted(Array(zeros.dropLast())) == nil)
        #expect(try adapted(zeros, 603) == nil)
        #expect(try adapted(zeros, 0xFFFF_FFFF) == nil)
        var negative = zeros
        for index in 338..<346 { negative[index] = 0xFF }
        #expect(try adapted(negative) == negative)
    }
}
