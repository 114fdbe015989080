import Conversion
import TestSupport
import Testing

@testable import Media

/// Compressed sound in a WAV file that claims to be PCM is found where libav finds it, and nothing else is searched.
@Suite struct HiddenFramesTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    /// A bare stream of frames, and how it lies in the file.
    struct Hidden: Sendable, CustomStringConvertible {
        var container: String
        var encoder: [String]
        /// Zeros before the frames, of which libav allows some.
        var zeros = 0
        /// Whether the two bytes of each sample change places.
        var isSwapped = false

        var description: String { "\(encoder[0]) in \(container), \(zeros) zeros\(isSwapped ? ", swapped" : "")" }
    }

    private static let streams = [
        Hidden(container: "ac3", encoder: ["ac3", "-b:a", "192k"]),
        Hidden(container: "eac3", encoder: ["eac3", "-b:a", "192k"]),
        Hidden(container: "adts", encoder: ["aac", "-b:a", "128k"]),
        Hidden(container: "latm", encoder: ["aac", "-b:a", "128k"]),
        Hidden(container: "mp3", encoder: ["libmp3lame", "-b:a", "128k", "-write_xing", "0", "-id3v2_version", "0"]),
        Hidden(container: "mp2", encoder: ["mp2", "-b:a", "128k"]),
        Hidden(container: "dts", encoder: ["dca", "-strict", "-2", "-b:a", "768k"]),
        Hidden(container: "truehd", encoder: ["truehd", "-strict", "-2"]),
        Hidden(container: "mlp", encoder: ["mlp", "-strict", "-2"]),
    ]

    private static let hidden = streams.flatMap { stream in
        [(0, false), (64, false), (4_096, false), (40_000, false), (0, true)].map { zeros, isSwapped in
            Hidden(container: stream.container, encoder: stream.encoder, zeros: zeros, isSwapped: isSwapped)
        }
    }

    @Test(arguments: hidden) func framesAreFoundWhereLibavFindsThem(_ hidden: Hidden) throws {
        let clip = Signal.sweep(rate: 48_000, frames: 48_000, channels: 2, amplitude: 0.3).pcm(.s16)
        let bare = folder.path("bare")
        try FFmpeg.encode(clip, to: bare, ["-c:a"] + hidden.encoder + ["-f", hidden.container])
        var bytes = try [UInt8](repeating: 0, count: hidden.zeros) + Bytes.read(bare)
        if hidden.isSwapped { bytes = Bytes.swapped(bytes, width: 2) }
        bytes.removeLast(bytes.count % 4)
        let sound = PCM(rate: 48_000, channels: 2, format: .s16, bytes: bytes)
        try WAVFile.write(sound, to: folder.path("a.wav"))
        try FFmpeg.encode(sound, to: folder.path("a.w64"), ["-c:a", "pcm_s16le"])
        for name in ["a.wav", "a.w64"] {
            let path = folder.path(name)
            let file = try OpenFile.reading(path)
            // Codecs that may not be decoded are known all the same.
            let source = try ByteSource(descriptor: file.descriptor, stop: StopSignal())
            let demuxer = try Demuxer(source, .init(nameHint: path))
            let codec = try #require(demuxer.streams.first?.codecName)
            #expect(try codec == FFmpeg.probe(path).streams.first?.codec, "\(name)")
        }
        if hidden.zeros == 0, !hidden.isSwapped {
            #expect(HiddenFrames.mayBegin(in: Array(bytes.prefix(HiddenFrames.searched))))
        }
    }

    @Test func ordinarySoundIsNotSearched() throws {
        var sounds = [
            "a tone": Signal.tone(440, rate: 48_000, frames: 10_000).pcm(.s16),
            "a quiet tone": Signal.tone(440, rate: 48_000, frames: 10_000, amplitude: 0.000_5).pcm(.s16),
        ]
        for seed in 0..<20 {
            sounds["noise \(seed)"] = Signal.noise(seed: UInt64(seed), rate: 48_000, frames: 10_000).pcm(.s16)
        }
        for (name, sound) in sounds {
            let path = folder.path("a.wav")
            try WAVFile.write(sound, to: path)
            let read = try ReadBack.file(path)
            #expect(try read.track.codecName == "pcm_s16le" && read.pcm == sound, "\(name)")
            #expect(!HiddenFrames.mayBegin(in: Array(sound.bytes.prefix(HiddenFrames.searched))), "\(name)")
        }
    }
}
