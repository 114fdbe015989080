/// QCELP, in which a packet may be empty.
struct QCELPCodec: CodecRules {
    let names = ["qcelp"]
    let packets = CodecTraits(emptyPacket: 0)
}
