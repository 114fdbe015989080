/// Numbers in ID3v2 with seven bits per byte, so that no byte of them looks like the start of a frame of sound.
enum ID3Number {
    static func value(_ bytes: some Collection<UInt8>) -> Int64 { bytes.reduce(0) { $0 << 7 | Int64($1 & 0x7F) } }

    /// Four bytes.
    static func bytes(_ value: Int) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> (21 - 7 * $0) & 0x7F) }
    }

    /// The size of a frame with this head, whose content begins at `place`, in a tag that ends at `end`. `read` gives up to
    /// so many bytes from a place on.
    ///
    /// In ID3v2.4, sizes have seven bits per byte, but iTunes once wrote eight. As in libav, what follows the frame tells
    /// which. If it does not, there are seven.
    static func sizeOfFrame(
        _ head: [UInt8],
        version: UInt8,
        at place: Int64,
        before end: Int64,
        _ read: (_ start: Int64, _ count: Int) -> [UInt8]?
    ) -> Int64 {
        let digits = version == 2 ? head[3..<6] : head[4..<8]
        let plain = bigEndian(digits)
        guard version == 4, plain > 0x7F else { return plain }
        let usual = value(digits)
        /// Whether a frame of so many bytes is followed by another one, by padding, or by the end of the tag.
        func fits(_ size: Int64) -> Bool {
            let left = end - place - size
            guard left > 0 else { return left == 0 }
            guard let next = read(place + size, Int(min(left, 4))), !next.isEmpty else { return false }
            return next.allSatisfy { $0 == 0 }
                || next.count == 4 && next.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }
        }
        return !fits(usual) && fits(plain) ? plain : usual
    }
}
