/// The characters with which pictures are drawn: each takes one column.
package enum DrawingStyle: Sendable, CaseIterable {
    /// Eight dots in a character. Most fonts of terminals have them.
    case braille
    /// Halves of characters, which the fonts of text consoles have, too.
    case blocks
    case ascii

    /// `isPoor`: whether the terminal is the kernel's text console, whose fonts have no braille.
    init(usesUnicode: Bool, isPoor: Bool) { self = usesUnicode ? (isPoor ? .blocks : .braille) : .ascii }

    /// The dots that a character has beside each other, and above each other.
    package var dotsAcross: Int { self == .braille ? 2 : 1 }
    package var dotsDown: Int {
        switch self {
        case .braille: 4
        case .blocks: 2
        case .ascii: 1
        }
    }

    /// A character with some of its dots, which `isSet` is asked for by column and by row, from the left and from the top.
    func character(_ isSet: (Int, Int) -> Bool) -> Character {
        switch self {
        case .braille:
            // U+2800, and a bit for each dot: numbered down the columns, but for the last row, which was added later.
            let bits: [[UInt32]] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]]
            var code: UInt32 = 0x2800
            for (row, pair) in bits.enumerated() {
                for (column, bit) in pair.enumerated() where isSet(column, row) { code |= bit }
            }
            return Unicode.Scalar(code).map(Character.init) ?? " "
        case .blocks:
            return switch (isSet(0, 0), isSet(0, 1)) {
            case (true, true): "█"
            case (true, false): "▀"
            case (false, true): "▄"
            case (false, false): " "
            }
        case .ascii: return isSet(0, 0) ? "#" : " "
        }
    }
}
