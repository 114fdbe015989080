import Conversion

/// The libav muxer and its options for each container.
enum ContainerWriting {
    static func muxerName(_ format: ResolvedFormat) -> String {
        switch format.container {
        case .wav: "wav"
        case .w64: "w64"
        case .aiff, .aifc: "aiff"
        case .caf: "caf"
        case .au: "au"
        case .raw: rawName(format)
        case .flac: "flac"
        case .m4a: "ipod"
        case .mp4: "mp4"
        case .adts: "adts"
        case .mp3: "mp3"
        case .ogg: "ogg"
        case .webm: "webm"
        case .mka: "matroska"
        case .wavpack: "wv"
        }
    }

    static func options(_ format: ResolvedFormat) -> [(String, String)] {
        switch format.container {
        // Reserves space for a ds64 chunk, used only when the data exceeds 4 GB.
        case .wav: [("rf64", "auto")]
        // For tags beyond AIFF's own four.
        case .aiff, .aifc: [("write_id3v2", "1")]
        // Car radios and Windows read ID3v2.3.
        case .mp3: [("id3v2_version", "3")]
        case .adts: [("write_id3v2", "1")]
        // Makes the edit list count single frames.
        case .m4a, .mp4: [("movie_timescale", "\(format.codec == .opus ? opusRateHz : format.sampleRateHz)")]
        default: []
        }
    }

    static func marking(_ format: ResolvedFormat, _ encoder: borrowing Encoder) throws -> PacketSink.Marking {
        switch (format.container, format.codec) {
        case (.mp3, .mp3): return .lameTag
        case (.ogg, .vorbis): return .oggVorbisPages
        case (.mka, .aac), (.mka, .mp3):
            let delay = encoder.delay + leadInFrames(format, encoder)
            return .packets(frameSize: encoder.frameSize, delayPackets: delay / encoder.frameSize)
        case (.mka, .vorbis), (.webm, .vorbis): return .vorbisPackets(try VorbisPacketLength.open(encoder))
        case (.mka, .opus), (.webm, .opus): return .opusPackets(ticksPerFrame: opusRateHz / format.sampleRateHz)
        default: return .none
        }
    }

    /// Frames of silence to put before the sound, so that the encoder delay ends at a packet boundary: Matroska can
    /// only drop whole packets there.
    static func leadInFrames(_ format: ResolvedFormat, _ encoder: borrowing Encoder) -> Int {
        guard format.container == .mka, [.aac, .mp3].contains(format.codec), encoder.frameSize > 0 else { return 0 }
        return (encoder.frameSize - encoder.delay % encoder.frameSize) % encoder.frameSize
    }

    /// The clock of Opus, whatever the input rate.
    static let opusRateHz = 48_000

    private static func rawName(_ format: ResolvedFormat) -> String {
        switch format.codec {
        case .ulaw: return "mulaw"
        case .alaw: return "alaw"
        default:
            if format.bitDepth == 8 { return "u8" }
            return
                "\(format.sampleKind == .float ? "f" : "s")\(format.bitDepth)\(format.endianness == .big ? "be" : "le")"
        }
    }
}
