/// AMR, narrow-band and wide-band.
struct AMRCodec: CodecRules {
    let isWide: Bool

    var names: [String] { [isWide ? "amr_wb" : "amr_nb"] }

    func length(of stream: InputStream) -> PacketLength.Rule { .bySize(stream) }

    func durations(of stream: InputStream) -> PacketDurations? { PacketDurations.equal(isWide ? 320 : 160) }
}
