/// The fingerprint of texts that come one after another.
public struct RunningFingerprint: ~Copyable {
    private let hash = SHA256Hash()
    private var byteCount: Int64 = 0

    /// Of nothing yet.
    public init() {}

    /// Takes a text in. Its length is part of it, so that "ab", "c" is not "a", "bc".
    public mutating func add(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            withUnsafeBytes(of: UInt64(bytes.count).littleEndian) { hash.add($0) }
            hash.add(UnsafeRawBufferPointer(bytes))
            byteCount += Int64(bytes.count) + 8
        }
    }

    /// The fingerprint of all that came.
    public consuming func finish() -> Fingerprint { Fingerprint(byteCount: byteCount, sha256: hash.finish()) }
}
