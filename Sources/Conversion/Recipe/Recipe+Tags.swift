extension Recipe {
    /// The values that a tag gets: one as a rule, or several, such as three artists. Without any, the tag is removed.
    public struct TagValues: Sendable, Hashable, Codable, ExpressibleByStringInterpolation {
        /// None of them is empty.
        public let all: [String]

        public init(_ values: [String]) { all = values.filter { !$0.isEmpty } }

        /// An empty value removes the tag.
        public init(_ value: String) { self.init([value]) }

        public init(stringLiteral value: String) { self.init(value) }

        /// Whether the tag is removed.
        public var removes: Bool { all.isEmpty }

        /// A text, or a list of texts.
        public init(from decoder: any Decoder) throws {
            // `try?`: what is no list must be a text, and otherwise the error says so.
            guard var list = try? decoder.unkeyedContainer() else {
                self.init(try decoder.singleValueContainer().decode(String.self))
                return
            }
            var values: [String] = []
            while !list.isAtEnd { values.append(try list.decode(String.self)) }
            self.init(values)
        }

        /// One value is a text, as in every version of recipes.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            if all.count > 1 { try container.encode(all) } else { try container.encode(all.first ?? "") }
        }
    }

    /// Whether several values of a tag are set, and in which output: `nil` for all of them.
    var placeOfSeveralValues: (isSet: Bool, output: Int?) {
        func hasSeveral(_ tags: [String: TagValues]) -> Bool { tags.values.contains { $0.all.count > 1 } }
        if hasSeveral(tags) { return (true, nil) }
        let output = outputs.firstIndex { hasSeveral($0.tags) }
        return (output != nil, output)
    }
}

extension [String: Recipe.TagValues] {
    /// Sets a tag in place of one that is the same under another name or in other letters.
    public mutating func set(_ name: String, to values: Recipe.TagValues) {
        for key in keys(ofTag: name) { self[key] = nil }
        self[name] = values
    }

    /// Sets tags one after another. A name that occurs again adds a value to its tag.
    public mutating func set(_ entries: [(name: String, value: String)]) {
        var names: Set<String> = []
        for (name, value) in entries {
            if !names.insert(TagTable.commonName(ofKey: name)).inserted, let key = keys(ofTag: name).first {
                self[key] = Recipe.TagValues((self[key]?.all ?? []) + [value])
            } else {
                set(name, to: Recipe.TagValues(value))
            }
        }
    }

    /// The keys under which this has a tag.
    private func keys(ofTag name: String) -> [String] {
        let wanted = TagTable.commonName(ofKey: name)
        return keys.filter { TagTable.commonName(ofKey: $0) == wanted }
    }
}
