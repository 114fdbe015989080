/// Some bytes that libav is to see at a place of a source instead of those that are there.
struct SourcePatch {
    let place: Int64
    let bytes: [UInt8]

    /// Puts what concerns them into bytes that were read from `start` on.
    func apply(to read: UnsafeMutableBufferPointer<UInt8>, at start: Int64) {
        let (first, end) = (max(place, start), min(place + Int64(bytes.count), start + Int64(read.count)))
        guard first < end else { return }
        for byte in first..<end { read[Int(byte - start)] = bytes[Int(byte - place)] }
    }
}
