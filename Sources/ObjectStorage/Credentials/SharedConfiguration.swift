/// The files `config` and `credentials` that AWS's programs share.
package struct SharedConfiguration: Sendable {
    /// The settings of each profile, and of each session of single sign-on.
    private var profiles: [String: [String: String]] = [:]
    private var sessions: [String: [String: String]] = [:]

    /// Merges both texts; settings of `credentials` have precedence.
    package init(config: String, credentials: String) {
        for (name, settings) in Self.sections(config) {
            let words = name.split(separator: " ", maxSplits: 1).map { $0.trimmed }
            switch words.first {
            case "profile" where words.count == 2: profiles[words[1], default: [:]].merge(settings) { $1 }
            case "sso-session" where words.count == 2: sessions[words[1], default: [:]].merge(settings) { $1 }
            case "default" where words.count == 1: profiles["default", default: [:]].merge(settings) { $1 }
            default: break
            }
        }
        for (name, settings) in Self.sections(credentials) { profiles[name, default: [:]].merge(settings) { $1 } }
    }

    /// `nil` if there is no such profile.
    package func profile(_ name: String) -> [String: String]? { profiles[name] }

    /// `nil` if there is no such session of single sign-on.
    package func session(_ name: String) -> [String: String]? { sessions[name] }

    private static func sections(_ text: String) -> [(name: String, settings: [String: String])] {
        var sections: [(name: String, settings: [String: String])] = []
        for line in text.split(whereSeparator: \.isNewline) {
            let isIndented = line.first?.isWhitespace == true
            let line = line.trimmed
            guard let first = line.first, first != "#", first != ";" else { continue }
            if first == "[" {
                guard let end = line.firstIndex(of: "]") else { continue }
                sections.append((line[line.index(after: line.startIndex)..<end].trimmed, [:]))
                continue
            }
            // Indented lines are the settings of a setting, such as those of `s3 =`.
            guard !isIndented, !sections.isEmpty, let equals = line.firstIndex(of: "=") else { continue }
            let name = line[..<equals].trimmed.lowercased()
            sections[sections.count - 1].settings[name] = line[line.index(after: equals)...].trimmed
        }
        return sections
    }
}

extension SharedConfiguration: CustomStringConvertible, CustomReflectable {
    /// Without the settings, among which are secrets.
    package var description: String { "a shared configuration" }
    package var customMirror: Mirror { Mirror(self, children: [(label: String?, value: Any)]()) }
}

extension StringProtocol {
    /// The text without white space around it.
    var trimmed: String {
        guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace })
        else { return "" }
        return String(self[first...last])
    }
}
