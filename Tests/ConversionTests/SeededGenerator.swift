import Conversion

/// A pseudo-random generator (SplitMix64) with the same numbers on every run and every machine.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A number below `limit`. The generic `Int.random(in:using:)` is too slow in the inner loop of a debug build.
    mutating func below(_ limit: UInt64) -> UInt64 { next() % limit }

    /// True once in `count` calls on average.
    mutating func onceIn(_ count: UInt64) -> Bool { next() % count == 0 }
}

extension SeededGenerator {
    private static let edges: [Int64] = [.min, .min + 1, -1, 0, 1, .max - 1, .max]
    private static let commonTimescales: [Int32] = [1, 2, 600, 1000, 44100, 48000, 90000, 1_000_000_000, .max]
    private static let beyondNumbers: [MediaTime] = [.positiveInfinity, .negativeInfinity, .indefinite, .invalid]

    /// Any integer: every length in bits is equally likely, and limits are mixed in.
    mutating func integer() -> Int64 {
        if onceIn(32) { return Self.edges[Int(below(UInt64(Self.edges.count)))] }
        let bits = next()
        return Int64(bitPattern: next()) >> Int64(bits & 63)
    }

    /// An audio timescale in half of the cases, and otherwise any other of any length.
    mutating func timescale() -> Int32 {
        let bits = next()
        if bits & 1 == 0 { return Self.commonTimescales[Int((bits >> 1) % UInt64(Self.commonTimescales.count))] }
        return max(1, Int32(next() >> 33) >> Int32((bits >> 1) % 31))
    }

    /// Any number, not marked as rounded.
    mutating func number() -> MediaTime { MediaTime(value: integer(), timescale: timescale()) }

    /// A number whose value has at most 40 bits and whose timescale is common in audio.
    mutating func ordinaryNumber() -> MediaTime {
        MediaTime(
            value: Int64(bitPattern: next()) >> 24,
            timescale: Self.commonTimescales[Int(below(7))]
        )
    }

    /// Any time: mostly numbers, some of them marked as rounded, and some values that are not numbers.
    mutating func time() -> MediaTime {
        if onceIn(16) { return Self.beyondNumbers[Int(below(4))] }
        return MediaTime(value: integer(), timescale: timescale(), hasBeenRounded: onceIn(4))
    }
}

/// The cases that violate a property. One report at the end keeps a loop of a hundred thousand cases fast.
struct Counterexamples {
    private(set) var count = 0
    private(set) var first = "none"

    /// Records the case if `holds` is false.
    mutating func expect(_ holds: Bool, _ example: @autoclosure () -> String) {
        guard !holds else { return }
        if count == 0 { first = example() }
        count += 1
    }
}
