/// Compresses bytes for PNG: a zlib stream (RFC 1950, 1951) with runs of equal bytes and fixed codes.
///
/// That is enough for rows of a waveform, which mostly equal the row above, and needs no library.
struct RunDeflate {
    /// Compressed bytes that have not been taken.
    private var output: [UInt8] = []
    private var bits: UInt64 = 0
    private var bitCount = 0
    /// The byte before, and how often it has come again since.
    private var last: UInt8?
    private var repeats = 0
    private var sums: (low: UInt32, high: UInt32) = (1, 0)

    /// The prime of Adler-32.
    private static let modulus: UInt32 = 65_521
    private static let longestRun = 258
    /// The shortest run of each length code from 257 on, and the bits that follow the code.
    private static let runs: [(first: Int, bits: Int)] = {
        let simple: [(first: Int, bits: Int)] = (3...10).map { ($0, 0) }
        var (all, first) = (simple, 11)
        for bits in 1...5 {
            for _ in 0..<4 {
                all.append((first, bits))
                first += 1 << bits
            }
        }
        return all + [(first: RunDeflate.longestRun, bits: 0)]
    }()

    init() {
        // Deflate with a window of 32 KiB, then a block that is the last one and has fixed codes.
        output = [0x78, 0x01]
        put(1, 1)
        put(1, 2)
    }

    mutating func add(_ bytes: [UInt8]) {
        for byte in bytes {
            sums.low = (sums.low + UInt32(byte)) % Self.modulus
            sums.high = (sums.high + sums.low) % Self.modulus
            if byte == last {
                repeats += 1
                if repeats == Self.longestRun { putRun() }
                continue
            }
            putRun()
            putSymbol(Int(byte))
            last = byte
        }
    }

    /// Ends the stream.
    mutating func finish() {
        putRun()
        putSymbol(256)
        if bitCount > 0 { put(0, 8 - bitCount) }
        for word in [sums.high, sums.low] { output += [UInt8(word >> 8), UInt8(word & 0xFF)] }
    }

    /// The number of bytes that can be taken.
    var count: Int { output.count }

    /// All whole bytes so far.
    mutating func take() -> [UInt8] {
        defer { output.removeAll(keepingCapacity: true) }
        return output
    }

    private mutating func putRun() {
        guard repeats > 0, let last else { return }
        if repeats < 3 {
            for _ in 0..<repeats { putSymbol(Int(last)) }
        } else {
            var code = Self.runs.count - 1
            while Self.runs[code].first > repeats { code -= 1 }
            putSymbol(257 + code)
            put(UInt64(repeats - Self.runs[code].first), Self.runs[code].bits)
            // A distance of 1: the byte before.
            put(0, 5)
        }
        repeats = 0
    }

    /// Writes the fixed code of a byte, of the end (256), or of a length (from 257 on). Codes begin with their highest bit.
    private mutating func putSymbol(_ symbol: Int) {
        switch symbol {
        case ..<144: putReversed(0x30 + symbol, 8)
        case ..<256: putReversed(0x190 + symbol - 144, 9)
        case ..<280: putReversed(symbol - 256, 7)
        default: putReversed(0xC0 + symbol - 280, 8)
        }
    }

    private mutating func putReversed(_ code: Int, _ count: Int) {
        var reversed: UInt64 = 0
        for bit in 0..<count where code >> bit & 1 == 1 { reversed |= 1 << UInt64(count - 1 - bit) }
        put(reversed, count)
    }

    private mutating func put(_ value: UInt64, _ count: Int) {
        bits |= value << UInt64(bitCount)
        bitCount += count
        while bitCount >= 8 {
            output.append(UInt8(truncatingIfNeeded: bits))
            bits >>= 8
            bitCount -= 8
        }
    }
}
