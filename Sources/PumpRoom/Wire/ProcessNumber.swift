/// A process's number as a message between a slot and its nursery, or an error's, below zero.
enum ProcessNumber {
    static func bytes(_ number: Int32) -> [UInt8] {
        withUnsafeBytes(of: number) { Array($0) }
    }

    /// `nil` where `bytes` are no such message.
    static func number(in bytes: [UInt8]) -> Int32? {
        guard bytes.count == MemoryLayout<Int32>.size else { return nil }
        return bytes.withUnsafeBytes { $0.loadUnaligned(as: Int32.self) }
    }
}
