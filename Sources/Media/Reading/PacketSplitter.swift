/// Splits packets that hold several frames, of which libav's decoder would decode the first only.
struct PacketSplitter: ~Copyable {
    /// The bytes of the first frame of a packet.
    private let firstFrameBytes: @Sendable (UnsafeRawBufferPointer) -> Int?
    /// Ticks of a frame.
    private let ticks: Int64
    /// What is left of the packet that was read last.
    private var rest: Packet?

    private init(_ firstFrameBytes: @escaping @Sendable (UnsafeRawBufferPointer) -> Int?, ticks: Int64) {
        (self.firstFrameBytes, self.ticks) = (firstFrameBytes, ticks)
        rest = nil
    }

    /// The splitter for the packets of `stream`; `nil` if they need none.
    static func of(_ stream: InputStream) -> PacketSplitter? {
        let codec = stream.codec
        guard let firstFrameBytes = codec.decoding.firstFrameBytes, let frames = codec.durations(of: stream)?.whole
        else { return nil }
        return PacketSplitter(firstFrameBytes, ticks: stream.ticks(near: frames, rate: stream.sampleRateHz))
    }

    /// Fills `packet` with the next frame of the packet that was read last; `false` if there is none.
    mutating func next(into packet: inout Packet) throws -> Bool {
        guard var kept = rest.take() else { return false }
        let isThere = kept.byteCount > 0
        if isThere {
            let count = frameBytes(of: kept)
            if count < kept.byteCount {
                try packet.takeFirst(count, lasting: ticks, of: &kept)
            } else {
                packet.take(&kept)
            }
        }
        rest = consume kept
        return isThere
    }

    /// Keeps all frames of `packet` but the first, if it has several.
    mutating func split(_ packet: inout Packet) throws {
        guard frameBytes(of: packet) < packet.byteCount else { return }
        var kept = try rest.take() ?? Packet()
        kept.take(&packet)
        rest = consume kept
        _ = try next(into: &packet)
    }

    /// Call it after a seek.
    mutating func forget() { rest = nil }

    private func frameBytes(of packet: borrowing Packet) -> Int {
        let count = packet.withBytes(firstFrameBytes) ?? packet.byteCount
        return count > 0 ? count : packet.byteCount
    }
}
