/// A page of a list of jobs.
public struct JobPage: Sendable, Hashable {
    public var jobs: [JobSummary]
    /// The start of the next page; `nil` if there is none.
    public var next: JobCursor?
    /// Whether a search inside sources ended before the page was full; `next` continues it.
    package var isCutShort = false
}

/// A position in a list of jobs. It stays valid while jobs come and go, and may be stored.
public struct JobCursor: Sendable, Hashable, Codable {
    public let text: String

    /// Takes the `text` of an earlier cursor. The ledger refuses any other.
    public init(text: String) { self.text = text }

    /// Reads a column `next`.
    init?(_ json: JSON?) {
        guard let json else { return nil }
        text = json.text
    }

    var json: JSON { JSON(text: text) }
}
