extension Bytes {
    /// Whether both have the same bytes.
    public static func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool { one == other }

    /// Whether the byte at `start` and each `step` bytes later is `value`.
    public static func areAll(_ value: UInt8, in bytes: [UInt8], from start: Int, by step: Int) -> Bool {
        stride(from: start, to: bytes.count, by: step).allSatisfy { bytes[$0] == value }
    }

    /// `bytes`, `times` times.
    public static func repeated(_ bytes: [UInt8], times: Int) -> [UInt8] {
        var all: [UInt8] = []
        all.reserveCapacity(bytes.count * times)
        for _ in 0..<times { all += bytes }
        return all
    }

    /// `bytes` in pieces of `count` bytes, the last of which may be shorter.
    public static func pieces(_ bytes: [UInt8], of count: Int) -> [[UInt8]] {
        stride(from: 0, to: bytes.count, by: count).map { Array(bytes[$0..<min($0 + count, bytes.count)]) }
    }

    /// Appends a copy of `plane`.
    public static func append(_ plane: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: plane)
    }

    /// Appends `count` zeros.
    public static func appendZeros(_ count: Int, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: repeatElement(0, count: count))
    }

    /// Stores the samples of `plane`, each of `width` bytes, as the channel `channel` of interleaved samples.
    ///
    /// The first frame is at `start` in `bytes`, which has room for all.
    public static func interleave(
        _ plane: UnsafeRawBufferPointer,
        width: Int,
        channel: Int,
        of channels: Int,
        into bytes: inout [UInt8],
        at start: Int
    ) {
        precondition(start + plane.count * channels <= bytes.count, "there is room for all frames")
        bytes.withUnsafeMutableBytes { out in
            guard let from = plane.baseAddress, let to = out.baseAddress else { return }
            var place = 0
            var target = start + channel * width
            while place < plane.count {
                (to + target).copyMemory(from: from + place, byteCount: width)
                place &+= width
                target &+= width &* channels
            }
        }
    }

    /// Samples of 16 bits, the least significant byte of each first.
    public static func little(_ samples: [Int16]) -> [UInt8] { samples.withUnsafeBytes { Array($0) } }
}

extension SeededGenerator {
    /// `count` random bytes.
    public mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
    }

    /// `count` random samples of 16 bits.
    public mutating func samples(_ count: Int) -> [Int16] {
        (0..<count).map { _ in Int16(truncatingIfNeeded: Int(next() & 0xFFFF)) }
    }
}
