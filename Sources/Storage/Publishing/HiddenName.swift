/// The names that unfinished outputs carry where they must have one: `.NAME.sluice-1.part`.
///
/// They are few and known, so that what a killed run left is found by name, without listing a folder of a million files.
enum HiddenName {
    /// How many names are tried before a random one. As many runs may write to one destination at once and still
    /// clean up after each other.
    static let slotCount = 8

    /// The hidden name for `name` in one of the known slots, counted from 1.
    static func slot(_ slot: Int, for name: String) -> String { ".\(stem(of: name)).sluice-\(slot).part" }

    /// A hidden name for `name` that no other file has.
    static func random(for name: String) -> String {
        let number = String(UInt64.random(in: .min ... .max), radix: 16)
        return ".\(stem(of: name)).sluice-r\(number).part"
    }

    /// Whether a file of that name is an unfinished output.
    static func isPart(_ name: String) -> Bool {
        guard name.utf8.first == UInt8(ascii: "."), name.hasSuffix(".part"),
            let mark = name.dropLast(5).split(separator: ".").last, mark.hasPrefix("sluice-")
        else { return false }
        let number = mark.dropFirst(7)
        return number.hasPrefix("r") ? UInt64(number.dropFirst(), radix: 16) != nil : Int(number) != nil
    }

    /// `name`, or as much of it as leaves room for what is put around it.
    ///
    /// File systems end names at 255 bytes, some at 143, and some insist on whole characters.
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

    /// FNV-1a: the same in every process, as a `Hasher` is not.
    private static func hash(_ name: String) -> UInt64 {
        name.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0100_0000_01B3 }
    }
}
