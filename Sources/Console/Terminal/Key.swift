/// A key press.
package enum Key: Sendable, Hashable {
    case character(Character)
    case up, down, left, right, pageUp, pageDown, home, end
    case enter, escape, tab, backTab, backspace, delete
    /// With Ctrl: `control("l")`.
    case control(Character)
    /// Pasted text, which holds letters and no commands.
    case paste(String)
}

/// Parses the bytes that a terminal sends into keys.
package struct KeyReader {
    private var bytes: [UInt8] = []
    private var pasted: [UInt8]?

    package init() {}

    private static let pasteBegins = Array("\u{1B}[200~".utf8)
    private static let pasteEnds = Array("\u{1B}[201~".utf8)
    /// No key's sequence is this long; more bytes did not come from a keyboard.
    private static let longest = 32

    /// Whether the bytes left may begin a longer sequence. A single Escape is complete only if nothing follows.
    var isWaiting: Bool { !bytes.isEmpty && pasted == nil }

    /// Adds `more` and returns the keys that are now complete.
    package mutating func take(_ more: some Sequence<UInt8>) -> [Key] {
        bytes += more
        var keys: [Key] = []
        while !bytes.isEmpty {
            if pasted != nil {
                guard let key = nextOfPaste() else { break }
                keys.append(key)
            } else if bytes.starts(with: Self.pasteBegins) {
                bytes.removeFirst(Self.pasteBegins.count)
                pasted = []
            } else {
                guard let (key, length) = Self.first(of: bytes) else { break }
                bytes.removeFirst(length)
                if let key { keys.append(key) }
            }
        }
        return keys
    }

    /// Treats the bytes left as complete, because nothing follows them.
    package mutating func flush() -> [Key] {
        guard isWaiting else { return [] }
        let isEscape = bytes[0] == 0x1B
        bytes = Array(bytes.dropFirst())
        return (isEscape ? [.escape] : []) + take([])
    }

    private mutating func nextOfPaste() -> Key? {
        guard let end = bytes.firstRange(of: Self.pasteEnds) else {
            // The last bytes may be the start of the end marker.
            let safe = max(0, bytes.count - Self.pasteEnds.count)
            pasted? += bytes.prefix(safe)
            bytes.removeFirst(safe)
            return nil
        }
        let text = String(decoding: (pasted ?? []) + bytes[..<end.lowerBound], as: UTF8.self)
        bytes.removeFirst(end.upperBound)
        pasted = nil
        return .paste(text)
    }

    /// The first key and its length, with a `nil` key for one that has no use here. `nil` if the key is incomplete.
    private static func first(of bytes: [UInt8]) -> (Key?, Int)? {
        switch bytes[0] {
        case 0x1B: return sequence(bytes)
        case 0x0D, 0x0A: return (.enter, 1)
        case 0x09: return (.tab, 1)
        case 0x7F, 0x08: return (.backspace, 1)
        case 0x01...0x1A: return (.control(Character(Unicode.Scalar(bytes[0] + 0x60))), 1)
        case 0x00, 0x1C...0x1F: return (nil, 1)
        case 0x20...0x7E: return (.character(Character(Unicode.Scalar(bytes[0]))), 1)
        default: return letter(bytes)
        }
    }

    private static func letter(_ bytes: [UInt8]) -> (Key?, Int)? {
        let length =
            switch bytes[0] {
            case 0xC2...0xDF: 2
            case 0xE0...0xEF: 3
            case 0xF0...0xF4: 4
            default: 1
            }
        guard bytes.count >= length else { return nil }
        let text = String(validating: bytes.prefix(length), as: UTF8.self)
        return (text?.first.map { .character($0) }, text == nil ? 1 : length)
    }

    /// `ESC [ A`, `ESC O A`, `ESC [ 5 ~`, `ESC [ 1 ; 5 C`
    private static func sequence(_ bytes: [UInt8]) -> (Key?, Int)? {
        guard bytes.count > 1 else { return nil }
        switch bytes[1] {
        case UInt8(ascii: "O"):
            guard bytes.count > 2 else { return nil }
            return (named(final: bytes[2], number: ""), 3)
        case UInt8(ascii: "["):
            guard let end = bytes.dropFirst(2).firstIndex(where: { (0x40...0x7E).contains($0) }) else {
                return bytes.count > longest ? (nil, bytes.count) : nil
            }
            let number = bytes[2..<end].prefix { (0x30...0x39).contains($0) }
            return (named(final: bytes[end], number: String(decoding: number, as: UTF8.self)), end + 1)
        case 0x1B: return (.escape, 1)
        // Alt with a key is not a command here, and must not act as the key alone.
        default: return (nil, 2)
        }
    }

    private static func named(final: UInt8, number: String) -> Key? {
        switch (Character(Unicode.Scalar(final)), number) {
        case ("A", _): .up
        case ("B", _): .down
        case ("C", _): .right
        case ("D", _): .left
        case ("H", _), ("~", "1"), ("~", "7"): .home
        case ("F", _), ("~", "4"), ("~", "8"): .end
        case ("~", "3"): .delete
        case ("~", "5"): .pageUp
        case ("~", "6"): .pageDown
        case ("M", _): .enter
        case ("Z", _): .backTab
        default: nil
        }
    }
}
