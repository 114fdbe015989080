/// Names of unfinished outputs on file systems without unnamed files: `.NAME.sluice-1.part`.
///
/// The numbered names are few and fixed, so the leftovers of a killed run are found by name, without listing a
/// folder of a million files.
enum HiddenName {
    /// The number of fixed names tried before a random one. Up to this many runs can write to one destination at the
    /// same time and still clean up after each other.
    static let slotCount = 8

    /// The fixed hidden name for `name` with the number `slot`, from 1.
    static func slot(_ slot: Int, for name: String) -> String { ".\(stem(of: name)).sluice-\(slot).part" }

    /// A hidden name for `name` that no other file has.
    static func random(for name: String) -> String {
        let number = String(UInt64.random(in: .min ... .max), radix: 16)
        return ".\(stem(of: name)).sluice-r\(number).part"
    }

    /// Whether `name` is that of an unfinished output.
    static func isPart(_ name: String) -> Bool {
        guard name.utf8.first == UInt8(ascii: "."), name.hasSuffix(".part"),
            let mark = name.dropLast(5).split(separator: ".").last, mark.hasPrefix("sluice-")
        else { return false }
        let number = mark.dropFirst(7)
        return number.hasPrefix("r") ? UInt64(number.dropFirst(), radix: 16) != nil : Int(number) != nil
    }

    /// `name`, shortened if necessary to leave space for the prefix and the suffix.
    ///
    /// File systems limit names to 255 bytes, some to 143, and some require whole characters.
    static func stem(of name: String) -> String {
        guard name.utf8.count > longest else { return name }
        var kept = ""
        for character in name.unicodeScalars {
            guard kept.utf8.count + String(character).utf8.count <= longest - 17 else { break }
            kept.unicodeScalars.append(character)
        }
        return "\(kept)~\(String(hash(name), radix: 16))"
    }

    private static let longest = 80

    /// FNV-1a, which gives the same value in every process; a `Hasher` does not.
    private static func hash(_ name: String) -> UInt64 {
        name.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0100_0000_01B3 }
    }
}
