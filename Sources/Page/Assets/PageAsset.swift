import Hashing
import HTTPServer

/// A file that pages load. Its path has a digest of its contents, so browsers keep it until there is another.
struct PageAsset: Sendable {
    let name: String
    let suffix: String
    /// Its media type.
    let type: String
    let text: String
    let digest: String

    init(name: String, suffix: String, type: String, text: String) {
        (self.name, self.suffix, self.type, self.text) = (name, suffix, type, text)
        let digits = Array("0123456789abcdef".utf8)
        let bytes = SHA256Hash.digest(of: Array(text.utf8)).prefix(8)
        digest = String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    var path: String { "/assets/\(name).\(digest).\(suffix)" }

    /// The answer to a request for the last part of a path.
    ///
    /// While coordinators are upgraded one after another, a browser may ask this one for a file that a page of another
    /// one has named. It then gets the file of this one, and asks again next time.
    static func answer(_ lastPart: String, _ head: RequestHead) -> HTTPAnswer? {
        let parts = lastPart.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let asset = all.first(where: { $0.name == parts[0] && $0.suffix == parts[2] }) else {
            return nil
        }
        let tag = "\"\(asset.digest)\""
        let lasts = parts[1] == asset.digest
        var answer = HTTPAnswer(.ok, fields: [("Content-Type", asset.type)], body: .bytes(Array(asset.text.utf8)))
        if head.names(tag, in: "if-none-match", weakly: true) { answer = HTTPAnswer(.notModified) }
        answer.fields += [
            ("ETag", tag),
            ("Cache-Control", lasts ? "public, max-age=31536000, immutable" : "no-cache"),
            ("X-Content-Type-Options", "nosniff"),
        ]
        return answer
    }

    static let all: [PageAsset] =
        embedded + [icon("icon", "#0a6074")]
        + ClusterColour.allCases.map { icon(ClusterColour.icon($0), $0.code) }

    /// The path of the file with this name; the path of the page itself if there is none.
    static func path(of name: String) -> String { all.first { $0.name == name }?.path ?? "/" }

    /// The mark of Sluice: three gates.
    private static func icon(_ name: String, _ colour: String) -> PageAsset {
        PageAsset(
            name: name,
            suffix: "svg",
            type: "image/svg+xml",
            text: """
                <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">\
                <rect width="16" height="16" rx="3" fill="\(colour)"/>\
                <path d="M3 3v10M8 3v10M13 3v10" stroke="#fff" stroke-opacity=".45" stroke-width="2"/>\
                <path d="M3 9v4M8 5v8M13 7v6" stroke="#fff" stroke-width="2"/></svg>

                """
        )
    }
}
