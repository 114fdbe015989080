import API
import Conversion
import FoundationEssentials
import HTTPServer

/// The parameters of a page. Forms send fields that were left empty, which say nothing.
struct PageQuery: Sendable {
    private let items: [(name: String, value: String)]
    /// Of all fields, also of those that were left empty.
    let names: Set<String>

    init(_ head: RequestHead) { self.init(head.query) }

    init(_ items: [(name: String, value: String)]) {
        self.items = items.filter { !$0.value.isEmpty }
        names = Set(items.map(\.name))
    }

    /// Reads the body of a form; `nil` if it is none.
    init?(form body: [UInt8]) {
        guard let text = String(validating: body, as: UTF8.self),
            let head = RequestHead(method: "POST", target: "/?" + text, fields: [])
        else { return nil }
        self.init(head.query)
    }

    /// The same, with what is wrong with it.
    @Sendable static func parse(form body: [UInt8]) -> Result<PageQuery, Problem> {
        guard let query = PageQuery(form: body) else { return .failure(Problem(.badBody, "the body is not a form")) }
        return .success(query)
    }

    /// The first value of a parameter.
    func text(_ name: String) -> String? { items.first { $0.name == name }?.value }

    /// A whole number, as the API takes it; `nil` without one.
    func whole(_ name: String) throws(Problem) -> JSONValue? {
        guard let text = text(name) else { return nil }
        guard let number = Int64(text) else {
            throw Problem(.badBody, mistakes: [.init(pointer: name, detail: "must be a whole number")])
        }
        return .whole(number)
    }

    /// All values of a parameter, which may be given more than once or have commas.
    func words(_ name: String) -> [String] {
        items.filter { $0.name == name }.flatMap { $0.value.split(separator: ",").map(String.init) }
    }
}

/// A point in time in a URL, in the words of the command, or as the API takes it: `1h`, `7d`, `2026-11-20T09:30:00Z`.
enum PageMoment {
    /// `nil` if the text is none.
    static func past(_ text: String, from now: Date) -> Date? {
        if let seconds = seconds(text) {
            // A whole second, so that its text means just the same.
            return Date(timeIntervalSince1970: (now.timeIntervalSince1970 - seconds).rounded(.down))
        }
        return Moments.date(text.count == 10 ? text + "T00:00:00Z" : text)
    }

    /// The same as a text, with a fraction if it has one: without it, the time would be another.
    static func text(_ date: Date) -> String {
        let hasFraction = date.timeIntervalSince1970 != date.timeIntervalSince1970.rounded(.down)
        return date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: hasFraction))
    }

    private static func seconds(_ text: String) -> Double? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int64(digits), number < 1_000_000_000 else { return nil }
        switch text.dropFirst(digits.count) {
        case "s": return Double(number)
        case "min", "m": return Double(number * 60)
        case "h": return Double(number * 3_600)
        case "d": return Double(number * 86_400)
        case "w": return Double(number * 604_800)
        default: return nil
        }
    }

    /// The times that filters offer, in words.
    static let offered = [("1h", "1 hour"), ("1d", "1 day"), ("7d", "7 days"), ("30d", "30 days")]
}
