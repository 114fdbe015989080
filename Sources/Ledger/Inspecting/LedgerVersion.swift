/// The version of a ledger, beside that of the program that reads it.
public struct LedgerVersion: Sendable, Hashable {
    /// The number of its last step.
    public var version = 0
    /// The last step that the program knows.
    public var known = 0
    /// Whether the ledger has the program's version and the functions of another build.
    public var hasOtherFunctions = false

    package init() {}

    /// Whether the ledger is as the program needs it.
    public var isKnown: Bool { version == known && !hasOtherFunctions }
}

extension LedgerVersion: LedgerRecord {
    package static var blank: LedgerVersion { LedgerVersion() }

    package static let fields: [RecordField<LedgerVersion>] = [
        .always("version", \.version, .count, "the version of the ledger").withoutColumn,
        .always("known", \.known, .count, "the last version that this program knows").withoutColumn,
        .flag("hasOtherFunctions", \.hasOtherFunctions, "whether another build of this version has made its functions")
            .withoutColumn,
    ]
}

extension Connection {
    /// The version of the ledger beside that of this program.
    func ledgerVersion(_ schema: SchemaName) throws -> LedgerVersion {
        var found = LedgerVersion()
        found.known = Migrator.version
        let last: (version: Int, functions: String?)? = try first(
            "select version, functions from \(schema).applied_migration order by version desc limit 1"
        ) { (try $0["version"], try $0["functions"]) }
        guard let last else { return found }
        found.version = last.version
        // Functions that belong to an earlier or a later version differ anyway.
        found.hasOtherFunctions = last.version == found.known && last.functions != LedgerFunctions.current.digest
        return found
    }
}
