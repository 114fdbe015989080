import Conversion

/// Samples without a header.
struct RawPCM: OutputRules {
    /// libav has a muxer for each sample format, and a demuxer of the same name.
    func muxerName(_ format: ResolvedFormat) -> String {
        switch format.codec {
        case .ulaw: return "mulaw"
        case .alaw: return "alaw"
        default:
            if format.bitDepth == 8 { return "u8" }
            return
                "\(format.sampleKind == .float ? "f" : "s")\(format.bitDepth)\(format.endianness == .big ? "be" : "le")"
        }
    }

    let isHeaderless = true
    let canStream = true
}
