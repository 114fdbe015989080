import Conversion

/// Why a text is not a valid value.
package struct Misfit: Error {
    /// Completes a sentence that begins with the option and its value: `must be a whole number`.
    package let why: String
    package let hint: String?

    package init(why: String, hint: String? = nil) { (self.why, self.hint) = (why, hint) }

    package static let empty = Misfit(
        why: "must not be empty",
        hint: "an unset shell variable gives an empty value"
    )
}

/// A type of option values: how to parse them, and what to offer for completion.
package struct ValueType<Value: Sendable>: Sendable {
    package let placeholder: String
    package let completion: Completion
    package let read: @Sendable (String) throws(Misfit) -> Value

    package init(
        placeholder: String,
        completion: Completion = .nothing,
        read: @escaping @Sendable (String) throws(Misfit) -> Value
    ) {
        (self.placeholder, self.completion, self.read) = (placeholder, completion, read)
    }

    /// The same type under another name in help.
    package func named(_ placeholder: String) -> ValueType {
        ValueType(placeholder: placeholder, completion: completion, read: read)
    }

    /// The same type with other completions.
    package func offering(_ completion: Completion) -> ValueType {
        ValueType(placeholder: placeholder, completion: completion, read: read)
    }
}

extension ValueType where Value == String {
    /// Any text but none: an empty value usually comes from an unset shell variable.
    package static let text = ValueType(placeholder: "TEXT") { text throws(Misfit) in
        guard !text.isEmpty else { throw .empty }
        return text
    }
    /// The name of a file, which the reader of the option checks.
    package static let file = text.named("FILE").offering(.files)
}

extension ValueType where Value == Int {
    package static func whole(in range: ClosedRange<Int>) -> ValueType {
        ValueType(placeholder: "N") { text throws(Misfit) in
            guard let number = Int(text), range.contains(number) else {
                throw Misfit(why: "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
            }
            return number
        }
    }

    /// One of a few numbers, all of which are offered for completion.
    package static func whole(of numbers: [Int]) -> ValueType {
        let listed = numbers.map { "\($0)" }
        return ValueType(
            placeholder: "N",
            completion: .words(listed.map { Completion.Candidate(word: $0) })
        ) { text throws(Misfit) in
            guard let number = Int(text), numbers.contains(number) else {
                throw Misfit(why: "is not allowed; allowed: \(listed.joined(separator: ", "))")
            }
            return number
        }
    }

    /// A number, with an optional `k` for thousands: `44100`, `44.1k`, `128k`.
    package static func thousands(in range: ClosedRange<Int>, example: String) -> ValueType {
        ValueType(placeholder: "N") { text throws(Misfit) in
            let isShort = text.last == "k" || text.last == "K"
            guard let number = Decimals.read(isShort ? text.dropLast() : text[...], shiftedBy: isShort ? 3 : 0),
                range.contains(number)
            else {
                throw Misfit(
                    why: "must be a number from \(range.lowerBound) to \(range.upperBound), as in \(example)"
                )
            }
            return number
        }
    }
}

/// Decimal numbers that become whole when the point moves to the right.
package enum Decimals {
    /// `44.1` shifted by 3 is 44100; `nil` if it is not a number, or not whole after the shift.
    package static func read(_ text: Substring, shiftedBy places: Int) -> Int? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2, let whole = parts.first, !whole.isEmpty else { return nil }
        let decimals = parts.count == 2 ? parts[1] : ""
        guard decimals.count <= places, parts.count == 1 || !decimals.isEmpty,
            (whole + decimals).allSatisfy({ $0.isASCII && $0.isNumber })
        else { return nil }
        return Int(whole + decimals + String(repeating: "0", count: places - decimals.count))
    }
}

extension ValueType where Value == Double {
    package static let number = ValueType(placeholder: "Q") { text throws(Misfit) in
        guard let number = Double(text), number.isFinite else { throw Misfit(why: "must be a number") }
        return number
    }
}

extension ValueType where Value: RawRepresentable<String> & CaseIterable {
    /// One of the cases, each with its line of help.
    package static func choice(_ placeholder: String, _ summary: (Value) -> String = { _ in "" }) -> ValueType {
        choice(of: Array(Value.allCases), placeholder, summary)
    }

    package static func choice(
        of values: [Value],
        _ placeholder: String,
        _ summary: (Value) -> String = { _ in "" }
    ) -> ValueType {
        let candidates = values.map { Completion.Candidate(word: $0.rawValue, summary: summary($0)) }
        return ValueType(placeholder: placeholder, completion: .words(candidates)) { text throws(Misfit) in
            let wanted = text.lowercased()
            if let value = values.first(where: { $0.rawValue == wanted }) { return value }
            let names = values.map(\.rawValue)
            let near = EditDistance.suggestions(for: wanted, among: names).map { "\"\($0)\"" }
            guard near.isEmpty else { throw Misfit(why: "is not allowed" + near.question) }
            throw Misfit(why: "is not allowed; allowed: \(names.joined(separator: ", "))")
        }
    }
}
