import CLibAV

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
