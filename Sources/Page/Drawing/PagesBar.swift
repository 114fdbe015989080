import Conversion

/// The links to the first and the next page of a list.
struct PagesBar: Sendable {
    /// `nil`: this is the first one.
    var first: PageLink?
    /// `nil`: this is the last one.
    var next: PageLink?
    var nextWord = "Next"

    var html: HTML {
        let first: HTML = self.first.map { "<a class=\"b\" href=\"\($0)\">First</a>" } ?? Self.none("First")
        let next: HTML =
            self.next.map { "<a class=\"b\" href=\"\($0)\" rel=\"next\">\(nextWord)</a>" } ?? Self.none(nextWord)
        return "<nav class=\"pages\" aria-label=\"Pages\">\(first) \(next)</nav>"
    }

    private static func none(_ word: String) -> HTML { "<span class=\"b\" aria-disabled=\"true\">\(word)</span>" }
}
