import TestSupport

/// Kinds of damage that a file may suffer.
enum Damage {
    /// Zeros over `count` bytes.
    static func hole(_ bytes: [UInt8], at place: Int, count: Int) -> [UInt8] {
        var damaged = bytes
        for index in place..<min(place + count, bytes.count) { damaged[index] = 0 }
        return damaged
    }

    static func cut(_ bytes: [UInt8], to count: Int) -> [UInt8] { Array(bytes.prefix(count)) }

    static func without(_ bytes: [UInt8], at place: Int, count: Int) -> [UInt8] {
        var damaged = bytes
        damaged.removeSubrange(place..<min(place + count, bytes.count))
        return damaged
    }

    static func inserted(_ junk: [UInt8], into bytes: [UInt8], at place: Int) -> [UInt8] {
        Array(bytes[..<place]) + junk + Array(bytes[place...])
    }

    /// Flips one bit in about `rate` of the bytes from `start` on.
    static func flipped(_ bytes: [UInt8], seed: UInt64, rate: Double, from start: Int = 0) -> [UInt8] {
        var damaged = bytes
        Bytes.flipBits(in: &damaged, seed: seed, rate: rate, from: start)
        return damaged
    }

    /// Bytes in which no frame begins.
    static func junk(_ count: Int, seed: UInt64 = 5) -> [UInt8] {
        var generator = SeededGenerator(seed: seed)
        return (0..<count).map { _ in UInt8(generator.next() & 0x7F | 1) }
    }
}
