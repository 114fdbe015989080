/// One step of the ledger's schema, a file of `migrations/tables`.
public struct Migration: Sendable, Hashable {
    /// Its place in the order, from 1. The version of a binary is that of the last migration that it knows.
    public let version: Int
    /// The file's name without number and extension.
    public let name: String
    /// The statements. They run in one transaction, with only the ledger's schema on the search path.
    public let sql: String
    /// The lowest version that a binary must have to work with the ledger after this migration.
    public let compatibleFrom: Int

    /// A migration that does not come from the folder `migrations/tables`, for tests.
    ///
    /// Without a line `-- Compatible from: N` in its text, no earlier binary may work with the ledger after it.
    public init(version: Int, name: String, sql: String) {
        self.version = version
        self.name = name
        self.sql = sql
        let stated = sql.split(separator: "\n").lazy.compactMap { line in
            line.hasPrefix(Self.mark) ? Int(line.dropFirst(Self.mark.count)) : nil
        }.first
        // The texts are part of the binary, and every command on a ledger reads them, so a released one cannot be wrong.
        if let stated { precondition((1...version).contains(stated), "\(version) cannot be compatible from \(stated)") }
        compatibleFrom = stated ?? version
    }

    private static let mark = "-- Compatible from: "
}

extension Migration: CustomStringConvertible {
    /// The name of its file: `0003_queues.sql`.
    public var description: String {
        let digits = String(version)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "_\(name).sql"
    }
}
