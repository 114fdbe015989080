import CLibAV

extension Allowlist {
    /// Whether a codec, by libav's name of it, has a decoder that may touch a source.
    static func decodes(codec name: String) -> Bool {
        guard let descriptor = avcodec_descriptor_get_by_name(name) else { return false }
        guard let decoder = avcodec_find_decoder(descriptor.pointee.id) else { return false }
        return decoders.contains(String(cString: decoder.pointee.name))
    }
}
