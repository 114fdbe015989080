/// MPEG-TS, which stamps packets in ticks of 90 kHz.
struct MPEGTransportStream: SourceRules {
    let packets = PacketTraits(clock: .rounded, jump: .never, timesAreRounded: true)

    /// After few packets, libav takes DTS for MP3.
    func packetsThatTellTheCodec(in source: ByteSource) -> Int { 32 }
}
