import Conversion
import TestSupport
import Testing

@testable import Media

/// How a reader describes a source before decoding any of it.
@Suite struct DescriptionTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private let clip = Signal.sweep(rate: 48_000, frames: 30_000, channels: 2).pcm(.s16)

    private func describe(_ path: String) throws -> SourceDescription {
        let file = try OpenFile.reading(path)
        return try Reader(descriptor: file.descriptor, options: .init(nameHint: path)).description
    }

    @Test(
        arguments: [
            ("a.wav", "-c:a pcm_s24le", "wav", 24, LengthPromise.exact(30_000), nil),
            ("a.flac", "", "flac", 16, .exact(30_000), nil), ("a.m4a", "", "mov", 16, .exact(30_000), 1_024),
            ("a.mp3", "", "mp3", 16, .exact(30_000), 1_105), ("n.mp3", "-write_xing 0", "mp3", 16, .none, nil),
            ("a.opus", "", "ogg", 16, .exact(30_000), 312),
            ("o.mp4", "-c:a libopus", "mov", 16, .exact(30_000), 312),
            ("o.webm", "-c:a libopus", "matroska", 16, .about(30_384, tolerance: 13_696), 312),
            ("a.aac", "", "aac", 16, .none, nil),
        ] as [(String, String, String, Int, LengthPromise, Int?)]
    )
    func trackIsDescribed(
        name: String,
        arguments: String,
        container: String,
        depth: Int,
        length: LengthPromise,
        priming: Int?
    ) throws {
        let path = folder.path(name)
        try FFmpeg.encode(clip, to: path, arguments.split(separator: " ").map(String.init))
        let description = try describe(path)
        let track = try #require(description.tracks.first)
        #expect(description.container == container && description.tracks.count == 1)
        #expect(track.sampleRateHz == 48_000 && track.channelCount == 2 && track.channelMask == 3)
        #expect(track.bitDepth == depth && track.isFloat == false)
        #expect(track.length == length)
        #expect(track.primingFrames == priming)
        #expect(track.isLossless == ["wav", "flac"].contains(container))
    }

    @Test func audiobookHasItsChaptersTagsAndCover() throws {
        let notes =
            ";FFMETADATA1\ntitle=A Book\nartist=Somebody\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=250\ntitle=One\n"
            + "[CHAPTER]\nTIMEBASE=1/1000\nSTART=250\nEND=625\ntitle=Zwei\n"
        try Bytes.write(Array(notes.utf8), to: folder.path("notes.txt"))
        try FFmpeg.run(["-f", "lavfi", "-i", "testsrc=s=32x24", "-frames:v", "1", folder.path("cover.png")])
        try WAVFile.write(clip, to: folder.path("a.wav"))
        // Corrupts the picture so that a decoder would reject it: covers are never decoded.
        var picture = try Bytes.read(folder.path("cover.png"))
        for place in 60..<picture.count { picture[place] ^= 0x5A }
        try FFmpeg.run([
            "-i", folder.path("a.wav"), "-i", folder.path("cover.png"), "-i", folder.path("notes.txt"), "-map", "0:a",
            "-map", "1:v",
            "-map_metadata", "2", "-c:v", "copy", "-disposition:v", "attached_pic", "-f", "mp4", folder.path("a.m4b"),
        ])
        var book = try Bytes.read(folder.path("a.m4b"))
        let original = try Bytes.read(folder.path("cover.png"))
        let place = try #require(Bytes.find(original, in: book))
        book.replaceSubrange(place..<(place + original.count), with: picture)
        try Bytes.write(book, to: folder.path("a.m4b"))

        let description = try describe(folder.path("a.m4b"))
        #expect(description.tracks.count == 1 && description.tracks[0].codecName == "aac")
        #expect(description.chapters.map(\.title) == ["One", "Zwei"])
        #expect(
            description.chapters.map(\.start.value) == [0, 250]
                && description.chapters[1].end == MediaTime(value: 625, timescale: 1000)
        )
        #expect(description.tags.contains(Tag(key: "title", value: "A Book")))
        #expect(description.tags.contains(Tag(key: "artist", value: "Somebody")))
        #expect(description.cover?.bytes == picture && description.cover?.width == 32)
        #expect(try ReadBack.file(folder.path("a.m4b")).deliveredFrames == 30_000)
    }

    @Test func defaultTrackIsTheMainOne() throws {
        let path = folder.path("a.mka")
        try FFmpeg.run([
            "-f", "lavfi", "-i", "sine=440:d=0.5", "-f", "lavfi", "-i", "sine=880:d=0.5", "-map", "0", "-map", "1",
            "-c:a", "flac",
            "-disposition:a:0", "0", "-disposition:a:1", "default", "-metadata:s:a:1", "language=ger", path,
        ])
        let description = try describe(path)
        #expect(description.tracks.map(\.isDefault) == [false, true])
        #expect(description.mainTrack?.index == 1)
        #expect(description.mainTrack?.tags.contains(Tag(key: "language", value: "ger")) == true)
        #expect(try ReadBack.file(path).track.index == 1)
    }

    @Test func floatsAndDepthsAreTold() throws {
        for (format, depth, isFloat) in [
            (PCM.SampleFormat.f32, 32, true), (.u8, 8, false), (.s32, 32, false), (.f64, 64, true),
        ] {
            let path = folder.path("\(format).wav")
            try WAVFile.write(clip.converted(to: format), to: path)
            let track = try #require(try describe(path).mainTrack)
            #expect(track.bitDepth == depth && track.isFloat == isFloat && track.isLossless)
        }
        let path = folder.path("six.wav")
        try WAVFile.write(Signal.silence(rate: 48_000, frames: 99, channels: 6).pcm(.s16), to: path)
        #expect(try describe(path).mainTrack?.channelMask == 0x3F)
        try WAVFile.write(
            Signal.silence(rate: 48_000, frames: 99, channels: 6).pcm(.s16),
            to: path,
            options: .init(leavesOutChannelMask: true)
        )
        #expect(try describe(path).mainTrack?.channelMask == 0)
        #expect(try ReadBack.file(path).deliveredFrames == 99)
    }
}
