import Conversion

/// How libav is asked for each container.
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
        // Room for a ds64 chunk, used only when the data passes 4 GB.
        case .wav: [("rf64", "auto")]
        // Tags beyond the four that AIFF has of its own.
        case .aiff, .aifc: [("write_id3v2", "1")]
        // Cars and Windows read ID3v2.3.
        case .mp3: [("id3v2_version", "3")]
        case .adts: [("write_id3v2", "1")]
        // The edit list then counts single frames.
        case .m4a, .mp4: [("movie_timescale", "\(format.sampleRateHz)")]
        default: []
        }
    }

    static func marking(_ format: ResolvedFormat, _ encoder: borrowing Encoder) throws -> PacketSink.Marking {
        guard format.container == .mka || format.container == .webm else { return .none }
        switch format.codec {
        case .aac, .mp3: return .packets(frameSize: encoder.frameSize, delay: encoder.delay)
        case .vorbis: return .vorbisPackets(try VorbisPacketLength.open(encoder))
        default: return .none
        }
    }

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
