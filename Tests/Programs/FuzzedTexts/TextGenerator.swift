import TestSupport

/// Generates texts close to valid ones: takes seeds and replaces, removes, repeats and combines their pieces.
package struct TextGenerator {
    private var generator: SeededGenerator
    private let reader: FuzzedText
    private let seeds: [[UInt8]]
    private let tokens: [[UInt8]]

    /// The same seed generates the same texts.
    package init(for reader: FuzzedText, seed: UInt64) {
        generator = SeededGenerator(seed: seed &* 0x9E37_79B9 &+ UInt64(reader.rawValue))
        self.reader = reader
        seeds = reader.seeds.map { Array($0.utf8) }
        tokens = (reader.tokens + FuzzedText.commonTokens).map { Array($0.utf8) }
    }

    /// The next input, starting with the byte that chooses the reader.
    package mutating func next() -> [UInt8] {
        var bytes = seeds[generator.whole(in: 0..<seeds.count)]
        for _ in 0..<generator.whole(in: 0..<6) { change(&bytes) }
        return reader.input(bytes.prefix(4_095))
    }

    private mutating func change(_ bytes: inout [UInt8]) {
        let range = piece(of: bytes)
        switch generator.whole(in: 0..<8) {
        case 0, 1: bytes.replaceSubrange(range, with: tokens[generator.whole(in: 0..<tokens.count)])
        case 2, 3: bytes.insert(contentsOf: tokens[generator.whole(in: 0..<tokens.count)], at: range.lowerBound)
        case 4: bytes.removeSubrange(range)
        case 5: bytes.insert(contentsOf: bytes[range], at: range.upperBound)
        case 6:
            let other = seeds[generator.whole(in: 0..<seeds.count)]
            bytes.replaceSubrange(range, with: other[piece(of: other)])
        default:
            guard range.lowerBound < bytes.count else { return }
            bytes[range.lowerBound] = UInt8(truncatingIfNeeded: generator.next())
        }
    }

    /// A random piece of `bytes`; in most cases a whole run of letters or of digits.
    private mutating func piece(of bytes: [UInt8]) -> Range<Int> {
        let start = generator.whole(in: 0..<(bytes.count + 1))
        guard start < bytes.count, generator.whole(in: 0..<4) > 0 else {
            return start..<min(bytes.count, start + generator.whole(in: 0..<12))
        }
        func kind(_ byte: UInt8) -> Int {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): 1
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), 0x80...0xFF: 2
            default: 3
            }
        }
        let wanted = kind(bytes[start])
        guard wanted < 3 else { return start..<(start + 1) }
        let lower = bytes[..<start].lastIndex { kind($0) != wanted }.map { $0 + 1 } ?? 0
        let upper = bytes[start...].firstIndex { kind($0) != wanted } ?? bytes.count
        return lower..<upper
    }
}
