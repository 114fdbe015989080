/// MLP and TrueHD.
struct MLPCodec: CodecRules {
    let names = ["truehd", "mlp"]
    // A stream can be entered every 128 packets, which have 160 frames at the highest rate.
    let packets = CodecTraits(preroll: 2 * 128 * 160)
}
