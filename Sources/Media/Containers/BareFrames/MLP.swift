/// MLP and TrueHD without a container. Only libav's parser finds the units of the stream, and drops an incomplete last
/// unit.
struct MLP: SourceRules {
    let packets = PacketTraits(lackIncompleteLast: true)
}
