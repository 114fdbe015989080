import Console
import Conversion

/// What a spec says of one file, for people.
struct SpecPage {
    let verdict: SpecVerdict

    func lines(for outlet: Outlet) -> [String] {
        var table = TextTable([
            .init(title: "LIMIT"), .init(title: "MEASURED", isNumber: true),
            .init(title: "ALLOWED", isElastic: true), .init(title: "RESULT"), .init(title: "WHERE", mayGo: true),
        ])
        for rule in verdict.rules {
            table.add([
                .init(rule.rule.title), .init(rule.measured), .init(rule.limit),
                rule.passes ? .init("pass", .good) : .init("FAIL", .bad), .init(rule.placeWords),
            ])
        }
        return table.lines(for: outlet) + [summary(outlet)]
    }

    private func summary(_ outlet: Outlet) -> String {
        let count = verdict.broken.count
        guard count > 0 else { return "\(verdict.spec): \(outlet.paint("pass", .good)), all limits are kept" }
        let words = "\(Figures.count(count, "limit")) of \(verdict.rules.count) \(Plural.be(count)) broken"
        return "\(verdict.spec): \(outlet.paint("FAIL", .bad)), \(words)"
    }
}

extension RuleVerdict {
    /// `1:02.3 (loudest second)`; empty if there is no place.
    fileprivate var placeWords: String {
        guard let at, let place else { return "" }
        return "\(at.short) (\(place.rawValue.split(separator: "_").joined(separator: " ")))"
    }
}
