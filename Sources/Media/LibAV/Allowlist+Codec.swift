import CLibAV

extension Allowlist {
    /// Whether a codec, by libav's name of it, has a decoder that may touch a source.
    static func decodes(codec name: String) -> Bool {
        avcodec_descriptor_get_by_name(name).flatMap { decoder(of: $0.pointee.id) } != nil
    }

    /// The decoder that may touch sources of that codec; `nil` where there is none.
    ///
    /// libav's own choice is not always on the list: its first one for MP2 computes in integers.
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
