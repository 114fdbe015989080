/// MPEG-PS, which stamps packets in ticks of 90 kHz.
struct MPEGProgramStream: SourceRules {
    let packets = PacketTraits(clock: .rounded)
}
