import CLibAV

extension CodecRegistry {
    /// libav's name of a codec.
    static func name(_ codec: AVCodecID) -> String { String(cString: avcodec_get_name(codec)) }

    static func rules(_ codec: AVCodecID) -> any CodecRules { rules(of: name(codec)) }
}
