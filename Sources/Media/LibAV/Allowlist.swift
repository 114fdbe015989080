import CLibAV

/// The demuxers and decoders that may read a source. No other libav demuxer or decoder is reachable.
///
/// Debian's libav has about 350 demuxers, and some of them are playlists that open other files. The demuxers listed
/// here each read one stream of bytes.
enum Allowlist {
    static let demuxers: [String] = [
        "wav", "w64", "aiff", "caf", "au", "flac", "mp3", "aac", "ogg", "mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm",
        "mpegts", "asf", "ape", "mpc", "mpc8", "tta", "dsf", "amr", "amrnb", "amrwb", "ac3", "eac3", "dts", "gsm", "wv",
        "avi", "flv", "voc", "rm", "nistsphere", "ircam", "sox", "mpeg", "truehd", "mlp", "mmf", "qcp", "iff", "bit",
        "oma",
        // Headerless PCM: opened by name only, never found by probing.
        "u8", "s8", "s16le", "s16be", "s24le", "s24be", "s32le", "s32be", "f32le", "f32be", "f64le", "f64be", "mulaw",
        "alaw",
    ]

    static let decoders: [String] = [
        "pcm_u8", "pcm_s8", "pcm_s16le", "pcm_s16be", "pcm_s24le", "pcm_s24be", "pcm_s32le", "pcm_s32be", "pcm_f32le",
        "pcm_f32be", "pcm_f64le", "pcm_f64be", "pcm_mulaw", "pcm_alaw", "pcm_bluray", "pcm_dvd", "pcm_lxf",
        "pcm_u16le", "pcm_u16be", "pcm_u24le", "pcm_u24be", "pcm_u32le", "pcm_u32be", "pcm_s16le_planar",
        "pcm_s8_planar",
        "adpcm_ima_wav", "adpcm_ms", "adpcm_ima_qt", "g722", "g726",
        "flac", "alac", "aac", "aac_latm", "mp3float", "mp2float", "mp1float", "vorbis", "opus", "wavpack",
        "wmav1", "wmav2", "wmapro", "wmalossless", "wmavoice", "ape", "mpc7", "mpc8", "tta",
        "dsd_lsbf", "dsd_msbf", "dsd_lsbf_planar", "dsd_msbf_planar", "amrnb", "amrwb", "ac3", "eac3", "dca", "gsm",
        "gsm_ms", "libspeex", "adpcm_swf", "adpcm_yamaha", "nellymoser", "real_144",
        "truehd", "mlp", "mace3", "mace6", "qcelp", "g729", "atrac3", "cook", "real_288", "sipr",
    ]

    static let demuxerList = demuxers.joined(separator: ",")
    static let decoderList = decoders.joined(separator: ",")

    /// Whether a demuxer is allowed, given libav's full name for it. That name may list several formats.
    static func allows(demuxer name: String) -> Bool { demuxers.contains(name) }
}

extension Allowlist {
    /// Whether the allowlist has a decoder for a codec, given libav's name for the codec.
    static func decodes(codec name: String) -> Bool {
        avcodec_descriptor_get_by_name(name).flatMap { decoder(of: $0.pointee.id) } != nil
    }

    /// The allowed decoder for a codec; `nil` if there is none.
    ///
    /// libav's default decoder is not always allowed: its default for MP2 computes in integers.
    static func decoder(of codec: AVCodecID) -> UnsafePointer<AVCodec>? {
        var state: UnsafeMutableRawPointer?
        while let candidate = av_codec_iterate(&state) {
            if candidate.pointee.id == codec, av_codec_is_decoder(candidate) != 0,
                decoders.contains(String(cString: candidate.pointee.name))
            {
                return candidate
            }
        }
        return nil
    }
}
