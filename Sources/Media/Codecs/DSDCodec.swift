/// DSD, one-bit sound.
struct DSDCodec: CodecRules {
    let names = ["dsd_lsbf", "dsd_msbf", "dsd_lsbf_planar", "dsd_msbf_planar"]
    let packets = CodecTraits(bytesAreFrames: true)
    let isOneBit = true
}
