/// The names and numbers that the ledger takes. The command and the HTTP API refuse by these rules what the ledger would
/// refuse, so that all ways to it agree.
public enum LedgerRules {
    public static let priorities = -100...100
    /// Of batches, queues and submitters.
    public static let weights = 1...10_000
    public static let attempts = 1...1_000
    public static let runningLimits = 1...1_000_000
    /// From which percentage of failures a webhook is told.
    public static let failurePercents = 1...100
    /// How many webhooks a submission may name.
    public static let notifiedWebhooks = 10
    /// In characters. The ledger takes 1000 bytes, and these are 800 at most.
    public static let batchNameLengths = 1...200
    /// Whether a batch may have this label. Where a batch is named, a number or `last` means another one.
    public static func mayBeLabel(_ text: String) -> Bool {
        let digits = text.first == "+" || text.first == "-" ? text.dropFirst() : text[...]
        return text != "last" && (digits.isEmpty || !digits.allSatisfy { "0"..."9" ~= $0 })
    }

    /// In bytes.
    public static let keyLengths = 1...1_000
    /// Of logins and of the accounts of tokens, in characters.
    public static let submitterLengths = 1...200

    public static let queueName = NameRule(longest: 63, marks: "._-")
    public static let tenantName = NameRule(longest: 50, marks: "._@+-")
    public static let tokenName = NameRule(longest: 50, marks: "._@+-", mayBeDigits: false)
    public static let loginName = NameRule(longest: 63, marks: "._-", mayBeginWithDigit: false)
    public static let webhookName = NameRule(longest: 64, marks: "._-", mayBeginWithDigit: false)
}

/// What a name may consist of: ASCII letters, digits and some marks.
public struct NameRule: Sendable, Hashable {
    /// In characters, which are as many bytes.
    public let longest: Int
    private let marks: String
    private let mayBeginWithDigit: Bool
    /// Whether a name may have digits only, as numbers do.
    private let mayBeDigits: Bool

    fileprivate init(longest: Int, marks: String, mayBeginWithDigit: Bool = true, mayBeDigits: Bool = true) {
        (self.longest, self.marks) = (longest, marks)
        (self.mayBeginWithDigit, self.mayBeDigits) = (mayBeginWithDigit, mayBeDigits)
    }

    public func permits(_ name: String) -> Bool {
        func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
        func isLetter(_ byte: UInt8) -> Bool {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
        }
        let bytes = name.utf8
        guard let first = bytes.first, isLetter(first) || mayBeginWithDigit && isDigit(first), bytes.count <= longest
        else { return false }
        return bytes.allSatisfy { isLetter($0) || isDigit($0) || marks.utf8.contains($0) }
            && (mayBeDigits || !bytes.allSatisfy(isDigit))
    }

    /// The rule as a regular expression. It does not tell digits alone from other names.
    public var pattern: String {
        "^[A-Za-z\(mayBeginWithDigit ? "0-9" : "")][A-Za-z0-9\(marks)]{0,\(longest - 1)}$"
    }

    /// `1 to 63 letters, digits and . _ - beginning with a letter or a digit`
    public var words: String {
        let signs = marks.map { "\($0)" }.joined(separator: " ")
        let first = mayBeginWithDigit ? "a letter or a digit" : "a letter"
        let digits = mayBeDigits || !mayBeginWithDigit ? "" : ", and not only digits"
        return "1 to \(longest) letters, digits and \(signs) beginning with \(first)\(digits)"
    }
}
