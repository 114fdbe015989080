import Hashing

/// Computes the fingerprint of a sequence of strings.
public struct RunningFingerprint: ~Copyable {
    private let hash = SHA256Hash()
    private var byteCount: Int64 = 0

    public init() {}

    /// Adds a string together with its length, so that "ab", "c" differs from "a", "bc".
    public mutating func add(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            withUnsafeBytes(of: UInt64(bytes.count).littleEndian) { hash.add($0) }
            hash.add(UnsafeRawBufferPointer(bytes))
            byteCount += Int64(bytes.count) + 8
        }
    }

    /// The fingerprint of all strings added.
    public consuming func finish() -> Fingerprint { Fingerprint(byteCount: byteCount, sha256: hash.finish()) }
}
