/// MPEG-TS, which stamps packets in ticks of 90 kHz.
struct MPEGTransportStream: SourceRules {
    let packets = PacketTraits(clock: .rounded, jump: .never, timesAreRounded: true)

    /// The program's table need not say what a private stream holds.
    let mayCallSoundData = true

    /// After few packets, libav takes DTS for MP3.
    func packetsThatTellTheCodec(in source: ByteSource) -> Int { 32 }
}
