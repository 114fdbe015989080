import Conversion

/// Adds what libav 5.1 leaves out of a finished container, so that players decode exactly the frames that were encoded.
enum ContainerPatch {
    struct Facts {
        let frames: Int64
        let delay: Int
        let tags: [Tag]
        /// The copied packet that is trimmed at its start.
        var trimmedPacket: Int?
    }

    static func apply(to sink: ByteSink, _ format: ResolvedFormat, _ facts: Facts) throws {
        switch (format.container, format.codec) {
        case (.m4a, _), (.mp4, _): try MP4Patch.apply(to: sink, format, facts)
        case (.caf, .opus), (.caf, .alac): try CAFPatch.apply(to: sink, format, facts)
        case (.mka, _), (.webm, _):
            try MatroskaPatch.apply(to: sink, format, facts)
            if let packet = facts.trimmedPacket { try MatroskaPatch.turnTrim(ofGroup: packet, in: sink) }
        case (.w64, _): try W64Patch.apply(to: sink, format, facts)
        default: break
        }
    }
}
