/// Bytes that libav sees at an offset instead of those in the source.
struct SourcePatch {
    let place: Int64
    let bytes: [UInt8]

    /// Applies the patch to bytes that were read from offset `start`.
    func apply(to read: UnsafeMutableBufferPointer<UInt8>, at start: Int64) {
        let (first, end) = (max(place, start), min(place + Int64(bytes.count), start + Int64(read.count)))
        guard first < end else { return }
        for byte in first..<end { read[Int(byte - start)] = bytes[Int(byte - place)] }
    }
}
