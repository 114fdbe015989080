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

    private static func escaped(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"), UInt8(ascii: ","), UInt8(ascii: ":"):
                bytes.append(byte)
            default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension HTML.Parts {
    mutating func appendInterpolation(_ link: PageLink) { appendInterpolation(link.text) }
}
