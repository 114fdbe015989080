import Conversion
import HTTPServer
import Ledger

/// A path of the page with its query, as a browser sends it.
struct PageLink: Sendable, Hashable {
    let text: String

    /// `["jobs", "17"]`; the overview has no parts. Items without a value are left out.
    init(_ parts: [String] = [], query: [(name: String, value: String)] = []) {
        let path = "/" + parts.map(Self.escaped).joined(separator: "/")
        let items = query.filter { !$0.value.isEmpty }.map { "\(Self.escaped($0.name))=\(Self.escaped($0.value))" }
        text = items.isEmpty ? path : "\(path)?\(items.joined(separator: "&"))"
    }

    /// The list of jobs with a saved filter; `nil` if what was saved is no query.
    init?(list filter: SavedFilter) {
        guard let head = RequestHead(method: "GET", target: "/?" + filter.query, fields: []) else { return nil }
        self.init(["jobs"], query: head.query)
    }

    static func job(_ job: Int64) -> PageLink { PageLink(["jobs", "\(job)"]) }
    static func batch(_ batch: Int64) -> PageLink { PageLink(["batches", "\(batch)"]) }
    static func change(_ number: Int64) -> PageLink { PageLink(["changes", "\(number)"]) }

    /// What a change of the jobs of a filter would do.
    static func preview(_ change: WantedChange, of filter: [(name: String, value: String)]) -> PageLink {
        PageLink(["changes", "preview"], query: [("change", change.text)] + filter)
    }

    private static func escaped(_ text: String) -> String { text.percentEncoded(keeping: "-._~,:") }
}

extension HTML.Parts {
    mutating func appendInterpolation(_ link: PageLink) { appendInterpolation(link.text) }
}
