import Conversion
import Foundation
import TestSupport
import Testing

@testable import PumpRoom

/// Scripts and playlists with the extensions of audio files: the room opens nothing that they refer to, and
/// the failure names their kind.
@Suite(.timeLimit(.minutes(15))) struct DisguiseTests {
    /// A text that libav recognises as a playlist or script, and the demuxer that the failure may name.
    struct Disguise: Sendable, CustomTestStringConvertible {
        let name: String
        let text: @Sendable (_ file: String, _ port: Int) -> String
        /// `nil` if libav itself does not recognise the text.
        let demuxer: String?

        var testDescription: String { name }

        init(_ name: String, _ demuxer: String?, _ text: @escaping @Sendable (String, Int) -> String) {
            (self.name, self.demuxer, self.text) = (name, demuxer, text)
        }
    }

    private static func playlist(_ lines: String...) -> String {
        (["#EXTM3U", "#EXT-X-TARGETDURATION:1"] + lines + ["#EXT-X-ENDLIST", ""]).joined(separator: "\n")
    }

    static let all: [Disguise] = [
        Disguise("HLS of a file", "hls") { file, _ in playlist("#EXTINF:1,", file) },
        Disguise("HLS over HTTP", "hls") { _, port in playlist("#EXTINF:1,", "http://127.0.0.1:\(port)/a.ts") },
        Disguise("HLS of a key", "hls") { file, port in
            playlist("#EXT-X-KEY:METHOD=AES-128,URI=\"http://127.0.0.1:\(port)/k\"", "#EXTINF:1,", file)
        },
        Disguise("HLS of a map", "hls") { file, _ in playlist("#EXT-X-MAP:URI=\"\(file)\"", "#EXTINF:1,", file) },
        Disguise("HLS of concat:", "hls") { file, _ in playlist("#EXTINF:1,", "concat:\(file)|\(file)") },
        Disguise("HLS of subfile:", "hls") { file, _ in
            playlist("#EXTINF:1,", "subfile,,start,0,end,100,,:\(file)")
        },
        Disguise("HLS of crypto:", "hls") { file, _ in playlist("#EXTINF:1,", "crypto:\(file)") },
        Disguise("HLS of data:", "hls") { _, _ in playlist("#EXTINF:1,", "data:audio/wav;base64,UklGRg==") },
        Disguise("HLS of HLS", "hls") { file, _ in
            "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n\(file)\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",URI=\"\(file)\"\n"
        },
        Disguise("ffconcat", "concat") { file, _ in "ffconcat version 1.0\nfile '\(file)'\n" },
        Disguise("ffconcat over TCP", "concat") { _, port in
            "ffconcat version 1.0\nfile 'tcp://127.0.0.1:\(port)'\n"
        },
        Disguise("DASH", nil) { file, port in
            "<?xml version=\"1.0\"?>\n<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" "
                + "profiles=\"urn:mpeg:dash:profile:isoff-live:2011\"><Period><AdaptationSet><Representation>"
                + "<BaseURL>http://127.0.0.1:\(port)/\(file)</BaseURL></Representation></AdaptationSet></Period></MPD>\n"
        },
        Disguise("SDP", "sdp") { _, port in
            "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=audio \(port) RTP/AVP 0\n"
        },
        Disguise("ffmetadata", "ffmetadata") { _, _ in ";FFMETADATA1\ntitle=x\n" },
        Disguise("RTSP redirect", nil) { _, port in "rtsp://127.0.0.1:\(port)/a\n" },
        Disguise("ASX", nil) { file, _ in "<asx version=\"3.0\"><entry><ref href=\"\(file)\"/></entry></asx>\n" },
        Disguise("PLS", nil) { file, _ in "[playlist]\nFile1=\(file)\nNumberOfEntries=1\n" },
        Disguise("image sequence", nil) { file, _ in "\(file)%03d.png\n" },
        Disguise("IMF", nil) { file, _ in
            "<?xml version=\"1.0\"?>\n<CompositionPlaylist><Path>\(file)</Path></CompositionPlaylist>\n"
        },
        Disguise("a URL", nil) { _, port in "http://127.0.0.1:\(port)/a.mp3\n" },
    ]

    private static let extensions = [
        "mp3", "wav", "flac", "ogg", "opus", "m4a", "mp4", "aac", "aiff", "caf", "au", "mka", "webm", "ts", "wv", "wma",
        "m3u8",
        "sdp", "mpd", "ffconcat", "txt",
    ]

    private let bench: SlotBench
    private let canary: String
    private let listener: Listener

    init() throws {
        bench = try SlotBench()
        canary = bench.folder.path("canary.wav")
        try WAVFile.write(Signal.tone(440, rate: 8_000, frames: 8_000).pcm(.s16), to: canary)
        listener = try Listener.tcp()
        try forgetReading()
    }

    /// Sets the canary's access time far before its modification time, so that the kernel records the next read.
    private func forgetReading() throws {
        var times = [timespec(tv_sec: 1, tv_nsec: 0), timespec(tv_sec: 2, tv_nsec: 0)]
        guard utimensat(AT_FDCWD, canary, &times, 0) == 0 else { throw SupportError("set times", errno: errno) }
    }

    private func wasRead() throws -> Bool {
        var status = stat()
        guard stat(canary, &status) == 0 else { throw SupportError("stat \(canary)", errno: errno) }
        return status.st_atim.tv_sec != 1
    }

    /// Checks that a read of the canary is noticed at all.
    @Test func canarySings() throws {
        #expect(try !wasRead())
        _ = try Bytes.read(canary)
        #expect(try wasRead())
    }

    @Test(arguments: all) func noConversionOpensWhatADisguisePointsTo(disguise: Disguise) async throws {
        let slot = bench.slot { $0.sandbox = .require }
        // Plain, with relative paths, after a byte order mark, after a tag, and twice in a row.
        let text = Array(disguise.text(canary, listener.port).utf8)
        let relative = Array(disguise.text("canary.wav", listener.port).utf8)
        let tag = Array("ID3".utf8) + [4, 0, 0, 0, 0, 0, 10] + [UInt8](repeating: 0, count: 10)
        let dresses = [text, relative, [0xEF, 0xBB, 0xBF] + text, tag + text, text + text]
        for (number, bytes) in dresses.enumerated() {
            for name in Self.extensions {
                let path = bench.folder.path("evil.\(name)")
                try Bytes.write(bytes, to: path)
                let outcome = await SlotRun(try SlotWork(from: path, to: bench.folder.path("out.wav")), in: slot)
                    .outcome
                guard case .failed(let failure) = outcome else {
                    Issue.record("\(name) \(number): \(outcome)")
                    continue
                }
                #expect(!failure.isRoomDeath, "\(name) \(number): \(failure)")
                #expect(failure.failure.kind == .permanent, "\(name) \(number): \(failure)")
                if number == 0, let demuxer = disguise.demuxer, failure.failure.code == "container_not_allowed" {
                    #expect(failure.failure.message.contains(demuxer), "\(name): \(failure.failure.message)")
                }
            }
        }
        // Without a misleading extension, libav would follow the text. There at least, the failure must name its kind.
        if let demuxer = disguise.demuxer {
            let path = bench.folder.path("evil")
            try Bytes.write(text, to: path)
            let failure = await SlotRun(try SlotWork(from: path, to: bench.folder.path("out.wav")), in: slot).failure
            #expect(failure?.failure.code == "container_not_allowed", "\(String(describing: failure))")
            #expect(failure?.failure.message.contains(demuxer) == true)
        }
        #expect(try !wasRead())
        #expect(!listener.wasCalled)
        await slot.close()
    }

    /// A film whose index says that its sound lies in another file.
    @Test func soundOfAnotherFileIsNotFetched() async throws {
        let path = bench.folder.path("refers.mov")
        try FFmpeg.encode(bench.clip, to: path)
        var bytes = try Bytes.read(path)
        // Turn `url ` with the flag "in this file" into an entry that names a path.
        let entry = try #require(Bytes.find("url ", in: bytes))
        let location = Array("file://\(canary)\0".utf8)
        bytes[entry + 7] = 0
        bytes.replaceSubrange((entry + 8)..<(entry + 8), with: location)
        for name in ["url ", "dref", "dinf", "minf", "mdia", "trak", "moov"] {
            let box = try #require(Bytes.find(name, in: bytes)) - 4
            let size = UInt32(bytes[box..<(box + 4)].reduce(0) { $0 << 8 | Int($1) } + location.count)
            bytes.replaceSubrange(box..<(box + 4), with: [24, 16, 8, 0].map { UInt8(size >> $0 & 0xFF) })
        }
        try Bytes.write(bytes, to: path)
        let slot = bench.slot { $0.sandbox = .require }
        let outcome = await SlotRun(try SlotWork(from: path, to: bench.folder.path("out.wav")), in: slot).outcome
        if case .failed(let failure) = outcome { #expect(!failure.isRoomDeath, "\(failure)") }
        #expect(try !wasRead())
        await slot.close()
    }
}
