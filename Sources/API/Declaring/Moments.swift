package import FoundationEssentials

/// Times in requests: RFC 3339.
package enum Moments {
    /// `2026-11-20T09:31:04Z`, `2026-11-20T09:31:04.25+05:30`
    package static func date(_ text: String) -> Date? {
        let (local, offset): (Substring, Int)
        if text.hasSuffix("Z") {
            (local, offset) = (text.dropLast(), 0)
        } else {
            // The library knows offsets of some hours only.
            guard let minutes = minutes(ofOffset: text.suffix(6)) else { return nil }
            (local, offset) = (text.dropLast(6), minutes)
        }
        let hasFraction = local.contains(".")
        // `try?`: why it is not a time does not matter.
        let date = try? Date(
            String(local) + "Z",
            strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: hasFraction)
        )
        return date?.addingTimeInterval(-Double(offset) * 60)
    }

    /// `+05:30`
    private static func minutes(ofOffset text: Substring) -> Int? {
        let bytes = Array(text.utf8)
        guard bytes.count == 6, bytes[3] == UInt8(ascii: ":"), let hours = Int(text.dropFirst().prefix(2)), hours < 24,
            let minutes = Int(text.suffix(2)), minutes < 60, bytes[1] != UInt8(ascii: "+"),
            bytes[1] != UInt8(ascii: "-")
        else { return nil }
        switch bytes[0] {
        case UInt8(ascii: "+"): return hours * 60 + minutes
        case UInt8(ascii: "-"): return -(hours * 60 + minutes)
        default: return nil
        }
    }
}
