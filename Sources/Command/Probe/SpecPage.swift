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
        if verdict.passes { return "\(verdict.spec): \(outlet.paint("pass", .good)), all limits are kept" }
        let count = verdict.broken.count
        let limits = "\(Figures.count(count, "limit")) of \(verdict.rules.count) \(Plural.be(count)) broken"
        let reasons = [count > 0 ? limits : nil, verdict.isDamaged == true ? "the file is damaged" : nil]
        return "\(verdict.spec): \(outlet.paint("FAIL", .bad)), \(reasons.compactMap { $0 }.joined(separator: ", "))"
    }
}

extension RuleVerdict {
    /// `1:02.3 (loudest second)`; empty if there is no place.
    fileprivate var placeWords: String {
        guard let at, let place else { return "" }
        return "\(at.short) (\(place.rawValue.split(separator: "_").joined(separator: " ")))"
    }
}
