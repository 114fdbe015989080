import Conversion

/// AAC without a container: frames with ADTS headers.
struct ADTS: ContainerRules {
    let frameSyntax: FrameSyntax? = .adts
    let statesTimes = false
    let packets = PacketTraits(beginWithADTSHeaders: true)
}

/// As an output.
extension ADTS {
    private static let packetFrames: Int64 = 1024

    func muxerName(_ format: ResolvedFormat) -> String { "adts" }

    func muxerOptions(_ format: ResolvedFormat) -> [(String, String)] { [("write_id3v2", "1")] }

    func copying(_ codec: Codec) -> CopyTraits { CopyTraits(keepADTSHeaders: true) }

    /// Nothing states where the sound begins and ends: all packets are sound, and one is the encoder's delay.
    func decodedFrames(of frames: Int64) -> Int64 {
        (frames + Self.packetFrames + Self.packetFrames - 1) / Self.packetFrames * Self.packetFrames
    }
}
