import Conversion
import TestSupport
import Testing

@testable import Media

/// Pictures stored beside the sound. libav queues them as packets before it.
@Suite struct CoverBesideSoundTests {
    private let folder: TemporaryFolder
    private static let sound = Signal.noise(seed: 31, rate: 48_000, frames: 30_001, channels: 2).pcm(.s16)

    init() throws { folder = try TemporaryFolder.create() }

    enum Covers: String, CaseIterable, Sendable {
        case one, two, ten, oneByte

        var pictures: [[UInt8]] {
            get throws {
                let picture = try Covered.picture()
                return switch self {
                case .one: [picture]
                case .two: [picture, try Covered.picture(.png)]
                case .ten: Array(repeating: picture, count: 10)
                case .oneByte: [[0xFF]]
                }
            }
        }
    }

    private func wav(_ covers: Covers, _ place: TaggedCover.Place) throws -> String {
        let path = folder.path("\(covers)-\(place).wav")
        let tag = TaggedCover.id3(try covers.pictures)
        try Bytes.write(TaggedCover.wav(WAVFile.bytes(Self.sound), tag, place), to: path)
        return path
    }

    /// Regression: the bytes of the picture were played as samples before the sound.
    @Test(arguments: Covers.allCases, TaggedCover.Place.allCases)
    func coverInAWAVIsNoSound(covers: Covers, place: TaggedCover.Place) throws {
        let path = try wav(covers, place)
        let read = try Decoded.file(path)
        #expect(read.pcm == Self.sound && read.track.length == .exact(30_001))
        if covers != .oneByte { #expect(try read.description.cover?.bytes == covers.pictures[0]) }
        #expect(try Decoded.file(path, damage: .conceal).pcm == Self.sound)
    }

    @Test(arguments: TaggedCover.Place.allCases) func coverOfAWAVTravelsBesideTheSound(place: TaggedCover.Place) throws
    {
        let path = try wav(.two, place)
        let flac = folder.path("out.flac")
        let outcome = try Converted.file(path, to: flac, as: AudioFormat(container: .flac), verifies: true)
        #expect(outcome.sourceFrames == 30_001 && outcome.summary.writtenFrames == 30_001)
        #expect(try FFmpeg.decode(flac) == Self.sound)
        let found = try Decoded.file(flac)
        #expect(try found.pcm == Self.sound && found.description.cover?.bytes == Covered.picture())

        let copied = folder.path("out.mka")
        try Converted.file(path, to: copied, as: AudioFormat(container: .mka, codec: .copy), verifies: true)
        #expect(try FFmpeg.decode(copied) == Self.sound)
        #expect(try Decoded.file(copied).pcm == Self.sound)
    }

    /// Each range that begins before the end of the previous one reopens the source.
    @Test(arguments: TaggedCover.Place.allCases) func rangesOfAWAVWithACoverAreRangesOfItsSound(
        place: TaggedCover.Place
    ) throws {
        let parts = [0..<100, 20_000..<30_001, 0..<1, 300..<20_000]
        let ranges = try parts.map { part in
            try MediaTimeRange(
                start: MediaTime(value: Int64(part.lowerBound), timescale: 48_000),
                end: MediaTime(value: Int64(part.upperBound), timescale: 48_000)
            )
        }
        let out = folder.path("out.wav")
        try Converted.file(try wav(.ten, place), to: out, as: AudioFormat(container: .wav), ranges: ranges)
        #expect(try WAVFile.read(Bytes.read(out)) == PCM.joined(parts.map { try Self.sound.cut($0) }))
    }

    @Test(arguments: Covers.allCases, [false, true])
    func coverInAnAIFFIsNoSound(covers: Covers, isInFront: Bool) throws {
        let (plain, path) = (folder.path("plain.aiff"), folder.path("a.aiff"))
        try FFmpeg.encode(Self.sound, to: plain)
        let tag = TaggedCover.id3(try covers.pictures)
        try Bytes.write(TaggedCover.aiff(Bytes.read(plain), tag, isInFront: isInFront), to: path)
        let read = try Decoded.file(path)
        #expect(read.pcm == Self.sound)
        if covers != .oneByte { #expect(try read.description.cover?.bytes == covers.pictures[0]) }
    }

    /// Formats without chunks, with a tag before their first frame or after the last.
    @Test(
        arguments: ["tta", "wv", "flac", "mp3", "aac", "ac3", "mp2"],
        Covers.allCases
    )
    func coverAroundBareSoundIsNoSound(kind: String, covers: Covers) throws {
        let plain = folder.path("plain.\(kind)")
        try FFmpeg.encode(Self.sound, to: plain)
        let bytes = try Bytes.read(plain)
        let expected = try Decoded.file(plain)
        if ["tta", "wv", "flac"].contains(kind) { #expect(expected.pcm.converted(to: .s16) == Self.sound) }
        var tagged = ["id3": TaggedCover.id3(try covers.pictures) + bytes]
        if ["tta", "wv", "mp3"].contains(kind), covers == .one {
            tagged["ape"] = bytes + TaggedCover.ape(try Covered.picture())
        }
        for (name, bytes) in tagged {
            let path = folder.path("\(name).\(kind)")
            try Bytes.write(bytes, to: path)
            let read = try Decoded.file(path)
            #expect(read.bytes == expected.bytes, "\(name)")
            if name == "id3" { #expect(read.track.length == expected.track.length) }
        }
    }

    /// Containers that hold pictures as separate streams, with the picture before the sound or after it.
    @Test(arguments: ["m4a", "mka", "mp3", "flac", "ogg"], [false, true])
    func coverBesideAStreamIsNoSound(container: String, isInFront: Bool) throws {
        let (plain, path, picture) = (
            folder.path("a.\(container)"), folder.path("b.\(container)"), folder.path("c.jpg")
        )
        try FFmpeg.encode(Self.sound, to: plain)
        try Bytes.write(Covered.picture(), to: picture)
        let maps = isInFront ? ["-map", "1", "-map", "0:a"] : ["-map", "0:a", "-map", "1"]
        if container == "ogg" {
            // In Ogg the picture is a comment.
            let format = AudioFormat(container: .ogg, codec: .copy)
            let source = try OpenFile.reading(plain)
            let reader = try Reader(descriptor: source.descriptor)
            let output = try reader.packets(of: reader.track())
            let destination = try OpenFile.creating(path)
            let writer = try Writer(
                descriptor: destination.descriptor,
                format: format.resolved(for: reader.track().shape),
                options: .init(cover: Picture(Covered.picture()))
            )
            try Pump(from: output, to: writer.packets(of: output)).run()
            _ = try writer.finish()
        } else if container == "mka" {
            let attached = ["-attach", picture, "-metadata:s:t", "mimetype=image/jpeg"]
            try FFmpeg.encode(plain, to: path, attached + ["-metadata:s:t", "filename=cover.jpg", "-c", "copy"])
        } else {
            try FFmpeg.run(
                ["-i", plain, "-i", picture] + maps + ["-c", "copy", "-disposition:v", "attached_pic", path]
            )
        }
        let bare = folder.path("bare.\(container)")
        try FFmpeg.encode(plain, to: bare, ["-c", "copy"])
        let (read, expected) = (try Decoded.file(path), try Decoded.file(container == "ogg" ? plain : bare))
        #expect(read.bytes == expected.bytes)
        if container != "mka" { #expect(read.track.length == expected.track.length) }
        #expect(try read.description.cover?.bytes == Covered.picture())
    }

    /// A short Vorbis stream on a single page is cut at its length, also if the file has a cover.
    @Test func coverLeavesTheOnlyPageOfVorbisAsLongAsItIs() throws {
        let clip = try Self.sound.cut(0..<700)
        let (plain, path) = (folder.path("a.wav"), folder.path("a.ogg"))
        try WAVFile.write(clip, to: plain)
        let source = try OpenFile.reading(plain)
        let reader = try Reader(descriptor: source.descriptor)
        let output = try reader.samples(of: reader.track())
        let destination = try OpenFile.creating(path)
        let writer = try Writer(
            descriptor: destination.descriptor,
            format: AudioFormat(container: .ogg, codec: .vorbis).resolved(for: reader.track().shape),
            options: .init(cover: Picture(Covered.picture()))
        )
        try Pump(from: output, to: writer.samples()).run()
        _ = try writer.finish()
        let read = try Decoded.file(path)
        #expect(read.frames == 700 && read.description.cover != nil)
    }

    /// A film gives its sound.
    @Test(arguments: ["mkv", "mov", "mp4", "ts", "wmv"], [false, true])
    func pictureStreamBesideTheSoundIsNoSound(container: String, isInFront: Bool) throws {
        let codecs = ["mkv": "pcm_s16le", "mov": "pcm_s16le", "mp4": "aac", "ts": "aac", "wmv": "wmav2"]
        let pictures = ["mkv": "mjpeg", "mov": "mjpeg", "mp4": "mpeg4", "ts": "mpeg2video", "wmv": "msmpeg4"]
        let (wav, film, plain) = (folder.path("a.wav"), folder.path("f.\(container)"), folder.path("p.\(container)"))
        try WAVFile.write(Self.sound, to: wav)
        let sound = ["-c:a", codecs[container]!]
        try FFmpeg.encode(wav, to: plain, sound)
        let maps = isInFront ? ["-map", "1", "-map", "0"] : ["-map", "0", "-map", "1"]
        let picture = ["-i", wav, "-f", "lavfi", "-i", "testsrc=s=32x24:d=0.6"]
        try FFmpeg.run(picture + maps + sound + ["-c:v", pictures[container]!, film])
        let (read, expected) = (try Decoded.file(film), try Decoded.file(plain))
        #expect(read.bytes == expected.bytes)
        if codecs[container] == "pcm_s16le" { #expect(read.pcm == Self.sound) }
    }
}
