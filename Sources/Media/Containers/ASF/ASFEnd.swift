/// Whether an ASF file is truncated within its packets. The length in its header is rounded too coarsely to show that.
enum ASFEnd {
    /// The first half of the identifier of ASF's Data Object.
    private static let dataObject: [UInt8] = [0x36, 0x26, 0xB2, 0x75, 0x8E, 0x66, 0xCF, 0x11]

    static func isCut(_ source: ByteSource) -> Bool {
        guard let size = source.endSize, let (place, length) = data(in: source), place < size else { return false }
        // Zero means that the size was not known when the header was written.
        return length > size - place
    }

    /// Where the Data Object begins, and the size that it states.
    private static func data(in source: ByteSource) -> (place: Int64, length: Int64)? {
        guard let head = source.bytes(at: 16, count: 8), head.count == 8 else { return nil }
        let place = littleEndian(head)
        guard place > 0, let object = source.bytes(at: place, count: 24), object.count == 24,
            object.starts(with: dataObject)
        else { return nil }
        return (place, littleEndian(object[16...]))
    }

    /// The time of the first packet in milliseconds; `nil` if it cannot be read.
    static func start(of source: ByteSource) -> Int64? {
        guard let place = data(in: source)?.place, let packet = source.bytes(at: place + 50, count: 40),
            packet.count == 40
        else { return nil }
        // Data for error correction comes first, then flags that say how many bytes three lengths before the time have.
        let flags = packet[0] & 0x80 == 0 ? 0 : 1 + Int(packet[0] & 0x0F)
        let bytes = [0, 1, 2, 4]
        let time = [1, 3, 5].reduce(flags + 2) { $0 + bytes[Int(packet[flags] >> UInt8($1) & 3)] }
        return littleEndian(packet[time..<time + 4])
    }
}
