/// ASF, the container of Windows Media.
struct ASF: SourceRules {
    let packets = PacketTraits(clock: .rounded, jump: .never, timesAreRounded: true)

    func protectionMark(in source: ByteSource) -> String? {
        hasContentEncryption(source) ? "Windows Media DRM" : nil
    }

    func capTags(_ cap: inout TagCap, from start: Int64) { cap.capASF() }

    func collectTags(in source: ByteSource, _ size: Int64, into collector: inout TagCollector) {
        ASFAttributes.collect(in: source, into: &collector)
    }

    func length(_ stated: StatedLength, of stream: InputStream, in demuxer: Demuxer) -> LengthPromise {
        // The stated length counts from zero, where the sound need not begin.
        let start = (ASFEnd.start(of: demuxer.source) ?? 0) * Int64(stream.sampleRateHz) / 1000
        return .about(
            demuxer.hasOneStream ? stated.near - (start < stated.near ? start : 0) : 0,
            tolerance: Int64(stream.sampleRateHz),
            unlessZero: true
        )
    }

    func lacksEnd(_ source: ByteSource) -> Bool { ASFEnd.isCut(source) }

    /// The identifier of ASF's Content Encryption Object.
    private static let contentEncryption: [UInt8] = [
        0xFB, 0xB3, 0x11, 0x22, 0x23, 0xBD, 0xD2, 0x11, 0xB4, 0xB7, 0x00, 0xA0, 0xC9, 0x55, 0xFC, 0x6E,
    ]

    private func hasContentEncryption(_ source: ByteSource) -> Bool {
        let mark = Self.contentEncryption
        guard let head = source.bytes(at: 0, count: 1 << 16), head.count >= 46 else { return false }
        return (30...(head.count - 16)).contains {
            head[$0] == mark[0] && head[$0..<($0 + 16)].elementsEqual(mark)
        }
    }
}
