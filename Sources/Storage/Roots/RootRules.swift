public import Conversion

/// What may be done below a root, beside what the file system allows.
public struct RootRules: Sendable, Hashable {
    /// Whether sources are read there.
    public var mayRead = true
    /// Whether outputs are published there.
    public var mayWrite = true
    /// Whether an output may take the place of another file.
    public var mayReplace = true
    /// The extensions that outputs may have, in lower case; any if it is empty.
    public var extensions: Set<String> = []
    /// The permissions of outputs. Without it an output gives no user more rights than its source does.
    public var mode: UInt32?

    public init() {}

    /// Reads `ro`, `wo`, `create`, `rw`, `ext=flac+mp3` and `mode=640`, with commas between them; `nil` if a word is none of these,
    /// or two exclude each other.
    public init?(_ text: some StringProtocol) {
        // Scalars: a mark that combines with a comma, a plus or a full stop does not hide it.
        for part in text.unicodeScalars.split(separator: ",", omittingEmptySubsequences: false) {
            let word = String(String.UnicodeScalarView(part))
            switch word {
            // What holds where nothing is said: it keeps a path that ends in ":ro" apart from a rule.
            case "rw": break
            case "ro": mayWrite = false
            case "wo": mayRead = false
            case "create": mayReplace = false
            case _ where word.utf8.starts(with: "ext=".utf8):
                let names = word.unicodeScalars.dropFirst(4).split(separator: "+", omittingEmptySubsequences: false)
                guard names.allSatisfy({ !$0.isEmpty && !$0.contains(where: { $0 == "." || $0 == "/" }) }) else {
                    return nil
                }
                extensions.formUnion(names.map { String($0).lowercased() })
            case _ where word.utf8.starts(with: "mode=".utf8):
                // A worker that cannot open its own output again could not finish it.
                guard let mode = UInt32(String(word.unicodeScalars.dropFirst(5)), radix: 8), mode <= 0o777,
                    mode & 0o600 == 0o600
                else {
                    return nil
                }
                self.mode = mode
            default: return nil
            }
        }
        let saysHowToWrite = !mayReplace || !extensions.isEmpty || mode != nil
        guard mayWrite || mayRead && !saysHowToWrite else { return nil }
    }

    /// As `init(_:)` reads it; empty if there are no rules.
    public var words: String {
        var words: [String] = []
        if !mayWrite { words.append("ro") }
        if !mayRead { words.append("wo") }
        if !mayReplace { words.append("create") }
        if !extensions.isEmpty { words.append("ext=" + extensions.sorted().joined(separator: "+")) }
        if let mode { words.append("mode=" + String(mode, radix: 8)) }
        return words.joined(separator: ",")
    }

    /// The conflict policy of an output, where the recipe has `wanted`.
    public func policy(_ wanted: Recipe.ConflictPolicy) -> Recipe.ConflictPolicy {
        wanted == .replace && !mayReplace ? .fail : wanted
    }
}
