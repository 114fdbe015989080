/// Windows Media Audio 1 and 2.
struct WMACodec: CodecRules {
    let names = ["wmav1", "wmav2"]
    // A superpacket begins in the one before it.
    let packets = CodecTraits(preroll: 32_768)
}
