/// Whether an ASF file is truncated within its packets. The length in its header is rounded too coarsely to show that.
enum ASFEnd {
    /// The first half of the identifier of ASF's Data Object.
    private static let dataObject: [UInt8] = [0x36, 0x26, 0xB2, 0x75, 0x8E, 0x66, 0xCF, 0x11]

    static func isCut(_ source: ByteSource) -> Bool {
        guard let size = source.size, let head = source.bytes(at: 16, count: 8), head.count == 8 else { return false }
        let place = bigEndian(head.reversed())
        guard place > 0, place < size, let object = source.bytes(at: place, count: 24), object.count == 24,
            object.starts(with: dataObject)
        else { return false }
        // Zero means that the size was not known when the header was written.
        let length = bigEndian(object[16...].reversed())
        return length > size - place
    }
}
