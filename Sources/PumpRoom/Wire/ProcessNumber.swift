/// A message from the fork server to its slot: a process id, or a negated errno.
package enum ProcessNumber {
    package static func bytes(_ number: Int32) -> [UInt8] {
        withUnsafeBytes(of: number) { Array($0) }
    }

    /// `nil` if `bytes` are not such a message.
    static func number(in bytes: [UInt8]) -> Int32? {
        guard bytes.count == MemoryLayout<Int32>.size else { return nil }
        return bytes.withUnsafeBytes { $0.loadUnaligned(as: Int32.self) }
    }
}
