/// Which channels of a source are taken, and in which order.
public enum ChannelPick: Sendable, Hashable {
    /// The first channel alone, as mono.
    case left
    /// The second channel alone, as mono.
    case right
    /// The second channel, then the first, as stereo. For sources with exactly two channels.
    case swap
    /// All channels mixed to mono.
    case sum
    /// The channels with these numbers, counted from 1, in this order. A channel may be taken more than once.
    case numbers([Int])

    /// The highest number of a channel, and the most channels that can be taken.
    public static let maximumCount = 64

    /// Each case that is one word, with the word.
    fileprivate static let words: [(word: String, pick: ChannelPick)] = [
        ("left", .left), ("right", .right), ("swap", .swap), ("sum", .sum),
    ]
}

// MARK: - Applying

extension ChannelPick {
    /// The layout that is left of `source`, and one row of factors for each of its channels; `nil` if the source lacks
    /// a channel that is asked for, or cannot be mixed to mono.
    public func applied(to source: ChannelLayout) -> (layout: ChannelLayout, rows: [[Double]])? {
        switch self {
        case .left: picked([1], from: source)
        case .right: picked([2], from: source)
        case .swap: source.channelCount == 2 ? picked([2, 1], from: source) : nil
        case .numbers(let numbers): picked(numbers, from: source)
        case .sum: ChannelMix(from: source, to: .mono).map { (.mono, $0.rows) }
        }
    }

    private func picked(_ numbers: [Int], from source: ChannelLayout) -> (layout: ChannelLayout, rows: [[Double]])? {
        let known = 1...max(1, source.channelCount)
        guard !numbers.isEmpty, numbers.allSatisfy(known.contains), source.channelCount <= Self.maximumCount else {
            return nil
        }
        let rows = numbers.map { number in known.map { $0 == number ? 1.0 : 0 } }
        return (ChannelLayout.standard(for: numbers.count) ?? .discrete(numbers.count), rows)
    }
}

// MARK: - Words

extension ChannelPick: CustomStringConvertible {
    /// `left`, `right`, `swap`, `sum`, or the numbers: `3,4`.
    public var description: String {
        if case .numbers(let numbers) = self { return numbers.map { String($0) }.joined(separator: ",") }
        return Self.words.first { $0.pick == self }?.word ?? ""
    }

    /// Parses what `description` returns.
    public init(parsing text: some StringProtocol) throws(EditTextError) {
        if let known = Self.words.first(where: { $0.word == text }) {
            self = known.pick
            return
        }
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { part in part.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(part) : nil }
        guard numbers.count == parts.count else {
            throw EditTextError(text, "not a choice of channels; allowed: \(Self.allowedForms)")
        }
        guard Self.areAllowed(numbers) else {
            throw EditTextError(text, "channel numbers go from 1 to \(Self.maximumCount), at most as many at once")
        }
        self = .numbers(numbers)
    }

    static let allowedForms = "left, right, swap, sum, or channel numbers from 1 to \(maximumCount)"

    static func areAllowed(_ numbers: [Int]) -> Bool {
        (1...maximumCount).contains(numbers.count) && numbers.allSatisfy((1...maximumCount).contains)
    }
}

extension ChannelPick: Codable {
    /// Decodes one of the words, or a list of channel numbers.
    public init(from decoder: any Decoder) throws {
        // `try?`: what is not a text can still be a list.
        if let text = try? decoder.singleValueContainer().decode(String.self) {
            guard let known = Self.words.first(where: { $0.word == text }) else {
                throw DecodingError(EditTextError(text, "allowed: \(Self.allowedForms)"), in: decoder)
            }
            self = known.pick
            return
        }
        // As Double: a number that is not an integer would be reported without a path.
        let numbers = try decoder.singleValueContainer().decode([Double].self).compactMap { Int(exactly: $0) ?? 0 }
        guard Self.areAllowed(numbers) else {
            let text = numbers.prefix(8).map { String($0) }.joined(separator: ",")
            throw DecodingError(EditTextError(text, "allowed: \(Self.allowedForms)"), in: decoder)
        }
        self = .numbers(numbers)
    }

    /// Encodes a word as text and numbers as a list.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if case .numbers(let numbers) = self {
            try container.encode(numbers)
        } else {
            try container.encode(description)
        }
    }
}
