/// Some jobs of a list.
public struct JobPage: Sendable, Hashable {
    public var jobs: [JobSummary]
    /// Where the next page begins; `nil` if there is none.
    public var next: JobCursor?
}

/// A place in a list of jobs. It stays valid while jobs come and go, and may be written down.
public struct JobCursor: Sendable, Hashable, Codable {
    public let text: String

    /// Takes a text that was a cursor's. The ledger refuses any other.
    public init(text: String) { self.text = text }

    /// Of a column `next`.
    init?(_ json: JSON?) {
        guard let json else { return nil }
        text = json.text
    }

    var json: JSON { JSON(text: text) }
}
