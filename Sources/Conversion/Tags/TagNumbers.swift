/// The numbers of a track, disc or movement, apart from the total behind them, as in `3/12`.
public struct TagNumbers: Sendable, Hashable {
    /// Empty if the total stands alone, as in `/12`.
    public let numbers: [String]
    public let total: String

    /// `nil` if the values state no total, or different ones.
    public init?(_ values: [String]) {
        let parts = values.map(Self.divided)
        let totals = Set(parts.compactMap(\.total))
        guard totals.count == 1, let total = totals.first else { return nil }
        self.total = total
        numbers = parts.map(\.number).filter { !$0.isEmpty }
    }

    /// A number and the total behind a slash, if it is a number as well.
    public static func divided(_ value: String) -> (number: String, total: String?) {
        let parts = value.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, Int(parts[1]) != nil else { return (value, nil) }
        return (parts[0], parts[1])
    }
}

extension [String: Recipe.TagValues] {
    /// The same with the totals behind numbers as tags of their own. A total that is set under its own name wins.
    public var dividingTotals: Self {
        var divided = self
        let names = Set(keys.map(TagTable.commonName(ofKey:)))
        for (key, values) in self {
            guard let total = TagTable.row(key: key).flatMap({ TagTable.total(of: $0.name) }),
                let parts = TagNumbers(values.all)
            else { continue }
            // A total alone leaves the number as it is.
            divided[key] = parts.numbers.isEmpty ? nil : Recipe.TagValues(parts.numbers)
            if !names.contains(total.name) { divided[total.key] = Recipe.TagValues(parts.total) }
        }
        return divided
    }
}
