/// GSM full rate, plain and in pairs as Microsoft stores it.
struct GSMCodec: CodecRules {
    let names = ["gsm", "gsm_ms"]
    // Its predictors' past fades in two seconds at most.
    let packets = CodecTraits(preroll: 2 * 8_000)

    func length(of stream: InputStream) -> PacketLength.Rule { .bySize(stream) }
}
