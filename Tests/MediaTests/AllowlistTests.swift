import Conversion
import TestSupport
import Testing

@testable import Media

/// Only listed formats open, and a reader touches only the bytes of its one descriptor.
@Suite struct AllowlistTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    @Test(arguments: [("-demuxers", Allowlist.demuxers), ("-decoders", Allowlist.decoders)])
    func everyNameIsKnownToLibav(list: String, names: [String]) throws {
        let lines = try Run.program("ffmpeg", ["-hide_banner", list]).checked().outputText.split(separator: "\n")
        let known: Set<String> = Set(lines.compactMap { $0.split(separator: " ").dropFirst().first.map(String.init) })
        #expect(known.count > 200)
        let unknown: [String] = names.filter { !known.contains($0) }
        #expect(unknown == [])
        #expect(Set(names).count == names.count)
    }

    @Test(arguments: [
        ("hls", "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nvictim.wav\n#EXT-X-ENDLIST\n"),
        ("concat", "ffconcat version 1.0\nfile victim.wav\n"),
        ("sdp", "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=audio 5004 RTP/AVP 0\n"),
        (
            "dash",
            "<?xml version=\"1.0\"?>\n<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" profiles=\"urn:mpeg:dash:profile:isoff-live:2011\"></MPD>\n"
        ),
        ("webvtt", "WEBVTT\n\n00:00.000 --> 00:01.000\nhello\n"),
        ("srt", "1\n00:00:00,000 --> 00:00:01,000\nhello\n\n"),
        ("ffmetadata", ";FFMETADATA1\ntitle=x\n"), ("tty", "Hello, this is plain text.\nNothing else.\n"),
        ("rtsp", "rtsp://127.0.0.1/a\n"),
        ("imf", "<?xml version=\"1.0\"?>\n<CompositionPlaylist></CompositionPlaylist>\n"),
    ]) func textThatNamesOtherFilesIsRefused(kind: String, text: String) throws {
        try WAVFile.write(Signal.tone(440, rate: 8_000, frames: 8_000).pcm(.s16), to: folder.path("victim.wav"))
        for name in [
            "evil.mp3", "evil.wav", "evil.m3u8", "evil.sdp", "evil.mpd", "evil.txt", "evil.ffconcat", "evil.aac",
        ] {
            let path = folder.path(name)
            try Bytes.write(Array(text.utf8), to: path)
            let error = #expect(throws: MediaError.self, "\(name)") { try ReadBack.file(path) }
            let refusals: [FailureCode] = [
                .containerNotAllowed, .unknownContainer, .unreadableContainer, .noAudioTrack, .noDecodableFrame,
                .corruptStream,
            ]
            #expect(error.map { refusals.contains($0.code) } == true, "\(name): \(String(describing: error))")
        }
    }

    @Test(arguments: [
        ("a.nut", "nut"), ("a.y4m", "yuv4mpegpipe"), ("a.png", "png_pipe"), ("a.adx", "adx"), ("a.swf", "swf"),
    ])
    func otherContainersAreRefusedByName(file: String, container: String) throws {
        let path = folder.path(file)
        let isPicture = ["a.y4m", "a.png"].contains(file)
        let source =
            isPicture
            ? ["-f", "lavfi", "-i", "testsrc=s=64x64:d=0.1", "-pix_fmt", "yuv420p"]
            : ["-f", "lavfi", "-i", "sine=d=0.3"]
        try FFmpeg.run(source + (file == "a.png" ? ["-frames:v", "1"] : []) + [path])
        let error = #expect(throws: MediaError.self) { try ReadBack.file(path) }
        #expect(error?.code == .containerNotAllowed)
        #expect(error?.detail.contains(container) == true)
    }

    @Test func thousandTracksAreTooMany() throws {
        let path = folder.path("a.mka")
        let maps = (0..<300).flatMap { _ in ["-map", "0:a"] }
        try FFmpeg.run(["-f", "lavfi", "-i", "sine=r=8000:d=0.01"] + maps + ["-c:a", "pcm_s16le", path])
        #expect(#expect(throws: MediaError.self) { try ReadBack.file(path) }?.code == .tooManyStreams)
    }

    /// A codec outside the list is described but not decoded, even in a container that may hold any codec.
    @Test func otherCodecsAreRefused() throws {
        let path = folder.path("a.ts")
        try FFmpeg.run(["-f", "lavfi", "-i", "sine=r=48000:d=0.3", "-ac", "2", "-c:a", "s302m", "-strict", "-2", path])
        let error = #expect(throws: MediaError.self) { try ReadBack.file(path) }
        #expect(error?.code == .unsupportedCodec)
    }

    // MARK: Bounds

    /// Bytes read while opening, whether it succeeds or not.
    private func bytesToOpen(_ path: String) throws -> (bytes: Int64, error: MediaError?) {
        let file = try OpenFile.reading(path)
        let source = try ByteSource(descriptor: file.descriptor, stop: StopSignal())
        do {
            _ = try Demuxer(source, .init(nameHint: path))
            return (source.readBytes, nil)
        } catch let error as MediaError {
            return (source.readBytes, error)
        }
    }

    @Test func junkBeforeTheFirstFrameIsNotReadWithoutBound() throws {
        let path = folder.path("junk.mp3")
        try FFmpeg.encode(Signal.tone(440, rate: 44_100, frames: 44_100).pcm(.s16), to: folder.path("a.mp3"))
        let sound = try Bytes.read(folder.path("a.mp3"))
        try Bytes.write([], to: path)
        try Bytes.overwrite(path, at: 100 << 20, with: sound)
        let (bytes, error) = try bytesToOpen(path)
        #expect(bytes <= ByteSource.openingBytes, "\(bytes)")
        #expect(error?.code == .unreadableContainer)
    }

    @Test func hugeCoverIsNotReadWithoutBound() throws {
        let path = folder.path("a.mp3")
        try FFmpeg.encode(Signal.tone(440, rate: 44_100, frames: 44_100).pcm(.s16), to: path)
        let sound = try Bytes.read(path)
        let size = 100 << 20
        let frame = Array("APIC".utf8) + synchsafe(size + 13) + [0, 0, 0] + Array("image/png".utf8) + [0, 3, 0]
        try Bytes.write(Array("ID3".utf8) + [4, 0, 0] + synchsafe(frame.count + size) + frame, to: path)
        try Bytes.overwrite(path, at: 10 + frame.count + size, with: sound)
        let (bytes, error) = try bytesToOpen(path)
        #expect(bytes <= ByteSource.openingBytes, "\(bytes)")
        #expect(error?.code == .metadataTooLarge)
    }

    private func synchsafe(_ number: Int) -> [UInt8] { [21, 14, 7, 0].map { UInt8(number >> $0 & 0x7F) } }

    @Test func videoDoesNotMakeProbingReadOn() throws {
        let path = folder.path("a.ts")
        try FFmpeg.run([
            "-f", "lavfi", "-i", "testsrc2=s=640x480:r=25:d=12", "-f", "lavfi", "-i", "sine=r=48000:d=12", "-c:v",
            "mpeg2video",
            "-b:v", "12M", "-minrate", "12M", "-maxrate", "12M", "-bufsize", "4M", "-c:a", "mp2", path,
        ])
        let (read, error) = try bytesToOpen(path)
        let size = try Bytes.size(of: path)
        #expect(error == nil && read < size * 3 / 4, "\(read) of \(size)")
    }
}
