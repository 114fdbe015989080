/// English nouns and verbs after a count, for messages.
package enum Plural {
    /// `1 byte`, `2048 bytes`.
    package static func count(_ number: some BinaryInteger, _ noun: String) -> String {
        "\(number) \(form(noun, for: number))"
    }

    /// `byte` for 1, `bytes` for every other number.
    package static func form(_ noun: String, for number: some BinaryInteger) -> String {
        guard number != 1 else { return noun }
        return noun.hasSuffix("ch") || noun.hasSuffix("s") ? "\(noun)es" : "\(noun)s"
    }

    /// `is` for 1, `are` for every other number.
    package static func be(_ number: some BinaryInteger) -> String { number == 1 ? "is" : "are" }

    /// `was` for 1, `were` for every other number.
    package static func past(_ number: some BinaryInteger) -> String { number == 1 ? "was" : "were" }

    /// `has` for 1, `have` for every other number.
    package static func have(_ number: some BinaryInteger) -> String { number == 1 ? "has" : "have" }
}
