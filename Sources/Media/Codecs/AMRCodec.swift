/// AMR, narrow-band and wide-band.
struct AMRCodec: CodecRules {
    let isWide: Bool

    var names: [String] { [isWide ? "amr_wb" : "amr_nb"] }

    /// Phones put several frames into a sample of 3GP.
    var decoding: DecodingTraits {
        let sizes = isWide ? Self.wideBytes : Self.narrowBytes
        return DecodingTraits(firstFrameBytes: { bytes in bytes.first.map { sizes[Int($0 >> 3 & 0x0F)] } })
    }

    func length(of stream: InputStream) -> PacketLength.Rule { .bySize(stream) }

    func durations(of stream: InputStream) -> PacketDurations? { PacketDurations.equal(isWide ? 320 : 160) }

    /// The bytes of a frame by its type, the byte that states the type included (RFC 4867, 3GPP TS 26.101 and 26.201).
    /// Those behind speech and comfort noise are reserved, or have no bits.
    private static let narrowBytes = [13, 14, 16, 18, 20, 21, 27, 32, 6, 7, 6, 6, 1, 1, 1, 1]
    private static let wideBytes = [18, 24, 33, 37, 41, 47, 51, 59, 61, 6, 6, 1, 1, 1, 1, 1]
}
