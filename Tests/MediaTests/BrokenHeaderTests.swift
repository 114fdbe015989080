import Conversion
import Glibc
import TestSupport
import Testing

@testable import Media

/// Headers with an impossible field. The error must blame the source, permanently, and not the request or the machine.
@Suite struct BrokenHeaderTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    /// The codes that blame the source. `nil`, success, is allowed too.
    private static let verdicts: Set<FailureCode> = [
        .emptyInput, .tagsOnly, .unknownContainer, .containerNotAllowed, .unreadableContainer, .noAudioTrack,
        .protectedContent, .unsupportedCodec, .unsupportedBitDepth, .unsupportedEditList, .tooManyStreams,
        .noDecodableFrame, .corruptStream, .truncated, .timelineGap, .uncountedSound, .metadataTooLarge,
        // A field that claims hours is believed until the job's budget runs out. A field that claims a rate of
        // gigahertz leaves almost no output.
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

    /// Zeroes and fills every field of a header in turn, at each place where a field may begin.
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

    private func verdict(_ bytes: [UInt8], _ name: String) throws -> FailureCode? {
        let source = try MemoryFile.open()
        #expect(write(source.descriptor, bytes, bytes.count) == bytes.count)
        let destination = try MemoryFile.open()
        var request = Converter.Request(format: AudioFormat(container: .wav), nameHint: name)
        request.budget = Budget(outputBytes: 1 << 24)
        return Converted.code {
            _ = try Converter(request).run(from: source.descriptor, to: destination.descriptor)
        }
    }

    /// Regression: forty-two files failed with "channels 0", as if the request had asked for that.
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

    /// Regression: an index of sixty million entries in a 4 KB file counted as out of memory and was retried elsewhere.
    @Test func tableThatNoFileHoldsIsNoLackOfMemory() throws {
        #expect(try Readout(Provocation.hugeIndex, name: "a.ape").error?.code == .unreadableContainer)
    }

    /// A header cut to any length never counts as out of memory either.
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
