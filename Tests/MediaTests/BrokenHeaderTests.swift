import Conversion
import Glibc
import TestSupport
import Testing

@testable import Media

/// Headers with a field that cannot be: the source is at fault, for good, and neither the wish nor the machine.
@Suite struct BrokenHeaderTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    /// What the source may be accused of, or success.
    private static let verdicts: Set<MediaError.Code> = [
        .emptyInput, .tagsOnly, .unknownContainer, .containerNotAllowed, .unreadableContainer, .noAudioTrack,
        .protectedContent, .unsupportedCodec, .unsupportedBitDepth, .tooManyStreams, .noDecodableFrame, .corruptStream,
        .truncated, .timelineGap, .metadataTooLarge,
        // A field that claims hours is believed, and stopped by what the job may use; one that claims a rate of gigahertz
        // leaves next to nothing.
        .outputBytesExceeded, .emptyOutput,
    ]

    private static let kinds: [(name: String, arguments: [String])] = [
        ("a.wav", []), ("float.wav", ["-c:a", "pcm_f32le"]), ("six.wav", ["-c:a", "pcm_s24le", "-ac", "6"]),
        ("ima.wav", ["-c:a", "adpcm_ima_wav"]), ("ms.wav", ["-c:a", "adpcm_ms"]), ("law.wav", ["-c:a", "pcm_mulaw"]),
        ("rf64.wav", ["-rf64", "always"]), ("a.w64", []), ("a.aiff", []),
        ("a.aifc", ["-f", "aiff", "-c:a", "pcm_s16le"]),
        ("a.au", []), ("a.caf", ["-c:a", "pcm_s16be"]), ("alac.caf", ["-c:a", "alac"]), ("a.flac", []), ("a.mp3", []),
        ("a.aac", []), ("a.ac3", []), ("a.ogg", ["-c:a", "libvorbis"]), ("a.opus", ["-c:a", "libopus"]),
        ("a.m4a", ["-c:a", "aac", "-movflags", "+faststart"]),
        ("a.mov", ["-c:a", "pcm_s16be", "-movflags", "+faststart"]),
        ("a.mka", ["-c:a", "pcm_s16le"]), ("v.mka", ["-c:a", "libvorbis"]), ("a.wma", ["-c:a", "wmav2"]), ("a.tta", []),
        ("a.wv", []), ("a.ts", ["-c:a", "aac"]),
    ]

    /// Zeroes and fills the fields of a header one after another, at every place where one may begin.
    @Test(arguments: kinds.map(\.name)) func noFieldIsBlamedOnTheWishOrTheMachine(name: String) throws {
        let path = folder.path(name)
        let clip = Signal.tone(440, rate: 44_100, frames: 4_410, channels: 2).pcm(.s16)
        let kind = try #require(Self.kinds.first { $0.name == name })
        try FFmpeg.encode(clip, to: path, ["-fflags", "+bitexact"] + kind.arguments)
        let bytes = try Bytes.read(path)
        let changes: [[UInt8]] = [[0], [0, 0, 0, 0], [0xFF, 0xFF, 0xFF, 0xFF]]
        for place in 0..<min(Self.headerBytes, bytes.count - 4) {
            for change in changes where change.count < 4 || place % 2 == 0 {
                var broken = bytes
                broken.replaceSubrange(place..<(place + change.count), with: change)
                if broken == bytes { continue }
                let code = try verdict(broken, name)
                #expect(
                    code.map { Self.verdicts.contains($0) } ?? true,
                    "\(change) at \(place): \(code?.rawValue ?? "")"
                )
            }
        }
    }

    private static let headerBytes = 60

    private func verdict(_ bytes: [UInt8], _ name: String) throws -> MediaError.Code? {
        let source = try MemoryFile.open()
        #expect(write(source.descriptor, bytes, bytes.count) == bytes.count)
        let destination = try MemoryFile.open()
        var request = Converter.Request(format: AudioFormat(container: .wav), nameHint: name)
        request.budget = Budget(outputBytes: 1 << 24)
        return Converted.code {
            _ = try Converter(request).run(from: source.descriptor, to: destination.descriptor)
        }
    }

    /// Forty-two files ended in "channels 0", as if that had been asked for.
    @Test(arguments: [(22, "channels"), (24, "rate")]) func nothingIsAWAVOfNoChannelsAndNoRate(field: (Int, String))
        throws
    {
        var bytes = try WAVFile.bytes(Signal.tone(440, rate: 8_000, frames: 800).pcm(.s16))
        for place in field.0..<(field.0 + (field.1 == "rate" ? 4 : 2)) { bytes[place] = 0 }
        for format in [
            AudioFormat(container: .wav), AudioFormat(container: .mka, codec: .copy), AudioFormat(container: .flac),
        ] {
            let source = folder.path("a.wav")
            try Bytes.write(bytes, to: source)
            let code = Converted.code { try Converted.file(source, to: folder.path("out"), as: format) }
            #expect(code == .unreadableContainer)
        }
    }

    @Test func moreChannelsThanAnyFormatHoldsAreTheHeadersClaim() throws {
        var bytes = try WAVFile.bytes(Signal.tone(440, rate: 8_000, frames: 800).pcm(.s16))
        bytes.replaceSubrange(22..<24, with: [200, 0])
        #expect(try Readout(bytes, name: "a.wav").error?.code == .unreadableContainer)
    }

    /// An index of sixty million entries, in a file of four kilobytes, was tried again on another machine.
    @Test func tableThatNoFileHoldsIsNoLackOfMemory() throws {
        #expect(try Readout(Provocation.hugeIndex, name: "a.ape").error?.code == .unreadableContainer)
    }

    /// Cut to any length, a header is never a lack of memory either.
    @Test func shortestFilesAreTheirOwnFault() throws {
        for (name, arguments) in Self.kinds {
            let path = folder.path(name)
            try FFmpeg.encode(Signal.tone(440, rate: 44_100, frames: 441).pcm(.s16), to: path, arguments)
            let bytes = try Bytes.read(path)
            for length in stride(from: 1, to: min(100, bytes.count), by: 7) {
                let code = try verdict(Array(bytes.prefix(length)), name)
                #expect(code.map { Self.verdicts.contains($0) } ?? true, "\(name), \(length): \(code?.rawValue ?? "")")
            }
        }
    }
}
