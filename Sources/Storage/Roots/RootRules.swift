public import Conversion

/// What a worker may do below a root, within what the file system allows.
public struct RootRules: Sendable, Hashable {
    /// Whether sources may be read there.
    public var mayRead = true
    /// Whether outputs may be published there.
    public var mayWrite = true
    /// Whether an output may replace an existing file.
    public var mayReplace = true
    /// The extensions that outputs may have, in lower case; any if empty.
    public var extensions: Set<String> = []
    /// The permissions of outputs. If `nil`, they have those of their folder, and grant no user more than their sources.
    public var mode: UInt32?
    /// The name or number of the group of outputs and new folders. If `nil`, the kernel chooses it: the group of the
    /// worker, or of a folder with the setgid bit.
    public var group: String?

    public init() {}

    /// Parses `ro`, `wo`, `create`, `rw`, `ext=flac+mp3`, `mode=640` and `group=audio`, separated by commas; `nil` if
    /// a word is none of these or two exclude each other.
    public init?(_ text: some StringProtocol) {
        // Scalars: a combining mark after a comma, a plus or a full stop does not hide it.
        for part in text.unicodeScalars.split(separator: ",", omittingEmptySubsequences: false) {
            let word = String(String.UnicodeScalarView(part))
            switch word {
            // The default. Writing it out keeps a path that ends in ":ro" from being read as a rule.
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
                // A worker must be able to open its own output again to finish it.
                guard let mode = UInt32(String(word.unicodeScalars.dropFirst(5)), radix: 8), mode <= 0o777,
                    mode & 0o600 == 0o600
                else {
                    return nil
                }
                self.mode = mode
            case _ where word.utf8.starts(with: "group=".utf8):
                let name = String(word.unicodeScalars.dropFirst(6))
                guard Self.isGroup(name) else { return nil }
                group = name
            default: return nil
            }
        }
        let saysHowToWrite = !mayReplace || !extensions.isEmpty || mode != nil || group != nil
        guard mayWrite || mayRead && !saysHowToWrite else { return nil }
    }

    /// Whether `name` can be the name or the number of a group.
    private static func isGroup(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.first != UInt8(ascii: "-")
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }

    /// The rules in the syntax of `init(_:)`; empty if there are none.
    public var words: String {
        var words: [String] = []
        if !mayWrite { words.append("ro") }
        if !mayRead { words.append("wo") }
        if !mayReplace { words.append("create") }
        if !extensions.isEmpty { words.append("ext=" + extensions.sorted().joined(separator: "+")) }
        if let mode { words.append("mode=" + String(mode, radix: 8)) }
        if let group { words.append("group=" + group) }
        return words.joined(separator: ",")
    }

    /// The conflict policy of an output whose recipe has `wanted`.
    public func policy(_ wanted: Recipe.ConflictPolicy) -> Recipe.ConflictPolicy {
        wanted == .replace && !mayReplace ? .fail : wanted
    }
}
