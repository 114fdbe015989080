import Conversion
public import FoundationEssentials

/// A migration that a ledger has recorded as applied.
public struct AppliedMigration: Sendable, Hashable {
    /// Its place in the order, from 1.
    public let version: Int
    /// Its name without number and extension.
    public let name: String
    /// SHA-256 of its text, in hexadecimal digits.
    public let checksum: String
    /// The lowest version that a binary must have to work with the ledger after it.
    public let compatibleFrom: Int
    /// When it was applied, on the database's clock.
    public let appliedAt: Date
    /// The role that applied it.
    public let appliedBy: String
}

/// The version of a ledger's schema, and what is still to apply.
public struct MigrationPlan: Sendable, Hashable {
    /// The applied migrations, in order. The last ones may be unknown to this binary.
    public let applied: [AppliedMigration]
    /// The pending migrations, in order.
    public let pending: [Migration]
    /// Whether the ledger then gets the functions of this binary. `false` if it has them, or is newer than this binary.
    public let replacesFunctions: Bool

    /// The number of the last applied migration; 0 if there is none.
    public var version: Int { applied.last?.version ?? 0 }

    /// The lowest version that a binary must have to work with the ledger as it is; 0 if there is none.
    public var compatibleFrom: Int { applied.map(\.compatibleFrom).max() ?? 0 }

    /// Whether there is nothing to apply.
    public var isEmpty: Bool { pending.isEmpty && !replacesFunctions }

    /// The migrations of the next transaction. A step that has no functions of its own comes with all that follow it
    /// and with the functions of this binary: with those of an earlier version the ledger would not work.
    func nextSteps(_ functions: LedgerFunctions?) -> [Migration] {
        guard let functions, let first = pending.first, first.version >= functions.since else {
            return Array(pending.prefix(1))
        }
        return pending
    }
}

/// What a migrator did to a ledger's schema.
public struct MigrationReport: Sendable, Hashable {
    /// The migrations that it applied, in order.
    public internal(set) var applied: [Migration] = []
    /// Whether it replaced the ledger's functions.
    public internal(set) var replacedFunctions = false
    /// The server's warnings meanwhile, for people.
    public internal(set) var warnings: [String] = []

    /// An empty report.
    public init() {}
}

extension MigrationPlan {
    /// Compares the ledger's record with the migrations of this binary, both in order.
    ///
    /// Throws `schemaTooNew`, `migrationChanged`, or `badConfiguration` if `target` cannot be reached.
    init(remembered: [Remembered], known: [Migration], functions: LedgerFunctions?, target: Int?) throws {
        let version = remembered.last?.applied.version ?? 0
        applied = remembered.map(\.applied)
        let compatibleFrom = applied.map(\.compatibleFrom).max() ?? 0
        guard compatibleFrom <= known.count else {
            throw Self.problem(
                .ledgerSchemaTooNew,
                "the ledger is at version \(version), and a sluice must know version \(compatibleFrom) to work with it; "
                    + "this one knows versions up to \(known.count)"
            )
        }
        for (index, one) in remembered.enumerated() {
            guard one.applied.version == index + 1 else {
                throw Self.problem(.ledgerMigrationChanged, "the ledger's migration \(index + 1) was never applied")
            }
            guard index < known.count else { continue }
            let migration = known[index]
            let hasNoFunctions = functions.map { migration.version >= $0.since } ?? false
            guard one.applied.name == migration.name, one.applied.checksum == one.checksumHere else {
                throw Self.problem(
                    .ledgerMigrationChanged,
                    "\(migration) differs from \(one.applied.name), which \(one.applied.appliedBy) applied",
                    // Builds between 0.1.0 and the next release numbered other steps from there on.
                    hint: hasNoFunctions
                        ? "an unreleased build made this ledger, or this is one; only ledgers of releases are upgraded"
                        : nil
                )
            }
        }
        // A ledger that is newer than this binary stays as it is, and so do its functions.
        let target = target ?? max(version, known.count)
        guard target <= max(version, known.count) else {
            throw Self.problem(.ledgerBadConfiguration, "there is no version \(target); the latest is \(known.count)")
        }
        guard target >= version else {
            throw Self.problem(
                .ledgerBadConfiguration,
                "the ledger is at version \(version) and cannot go back to \(target)"
            )
        }
        pending = Array(known[min(version, known.count)..<min(target, known.count)])
        if let functions, !pending.isEmpty, target != known.count, target >= functions.since {
            throw Self.problem(
                .ledgerBadConfiguration,
                "this sluice has the functions of version \(known.count), and none for version \(target)"
            )
        }
        let stored = remembered.last { $0.functions != nil }?.functions
        replacesFunctions = functions.map { target == known.count && $0.digest != stored } ?? false
    }

    /// A recorded migration, and the checksum of this binary's migration with the same number.
    struct Remembered {
        var applied: AppliedMigration
        var checksumHere: String?
        /// The digest of the functions that were applied with it.
        var functions: String?
    }

    private static func problem(_ code: FailureCode, _ detail: String, hint: String? = nil) -> LedgerError {
        LedgerError(code, during: "migrate", detail, hint: hint)
    }
}
