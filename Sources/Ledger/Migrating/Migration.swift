/// One step of the ledger's schema.
public struct Migration: Sendable, Hashable {
    /// Its place in the order, from 1.
    public let version: Int
    /// The file's name without number and extension.
    public let name: String
    /// The statements. They run in one transaction, with only the ledger's schema on the search path.
    public let sql: String

    /// A migration that does not come from the folder `migrations`, for tests.
    public init(version: Int, name: String, sql: String) {
        self.version = version
        self.name = name
        self.sql = sql
    }
}

extension Migration: CustomStringConvertible {
    /// The name of its file: `0003_queues.sql`.
    public var description: String {
        let digits = String(version)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "_\(name).sql"
    }
}
