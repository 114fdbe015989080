import Conversion

/// A database engine that speaks PostgreSQL's protocol but is a different engine, or extends PostgreSQL with one.
public struct ForeignEngine: Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case citus, yugabyte, cockroach, dsql, limitless
    }

    public let kind: Kind
    /// As the server reports it; `nil` where it does not.
    public let version: String?

    /// Detects the engine from `version()`, the names of its extensions, and the `telltales` that it has.
    ///
    /// `nil` for PostgreSQL, also as a service: RDS, Aurora without Limitless, Cloud SQL and the like are
    /// PostgreSQL here.
    public init?(version text: String, extensions: Set<String>, relations: Set<String>) {
        let words = text.split { $0 == " " || $0 == "," }
        if text.hasPrefix("CockroachDB") {
            (kind, version) = (
                .cockroach, words.first { $0.first == "v" && $0.dropFirst().first?.isNumber == true }.map(String.init)
            )
        } else if let word = words.first(where: { $0.contains("-YB-") }) {
            (kind, version) = (.yugabyte, word.text(behind: "-YB-"))
        } else if relations.contains(Self.limitlessRelation) || words.contains(where: { $0.hasSuffix("-limitless") }) {
            (kind, version) = (.limitless, words.first { $0.hasSuffix("-limitless") }.map(String.init))
        } else if relations.contains(Self.dsqlRelation) {
            (kind, version) = (.dsql, nil)
        } else if extensions.contains("citus") {
            (kind, version) = (.citus, nil)
        } else {
            return nil
        }
    }

    /// Relations that only one engine has. Aurora's engines report plain PostgreSQL in `version()`.
    static let telltales: Set<String> = [limitlessRelation, dsqlRelation]
    private static let limitlessRelation = "rds_aurora.limitless_subclusters"
    private static let dsqlRelation = "sys.iam_pg_role_mappings"

    /// Whether no ledger works there. With Citus, tables that are not distributed work as in PostgreSQL.
    public var isRefused: Bool { kind != .citus }

    /// `YugabyteDB 2025.2.3.2-b0`
    public var name: String {
        let name =
            switch kind {
            case .citus: "Citus"
            case .yugabyte: "YugabyteDB"
            case .cockroach: "CockroachDB"
            case .dsql: "Amazon Aurora DSQL"
            case .limitless: "Amazon Aurora PostgreSQL Limitless Database"
            }
        return version.map { "\(name) \($0)" } ?? name
    }

    /// What a ledger needs of PostgreSQL and the engine lacks.
    public var reason: String {
        switch kind {
        case .citus:
            "a claim locks rows with SKIP LOCKED, which Citus refuses for distributed tables; tables that stay on the coordinator "
                + "work as in PostgreSQL"
        case .yugabyte:
            "its advisory locks and LISTEN are previews, and it cannot create partitions within a transaction"
        case .cockroach:
            "it has no LISTEN and no advisory locks, and its SKIP LOCKED also skips rows that are not locked"
        case .dsql:
            "it has no PL/pgSQL, no partitions, no advisory locks and no LISTEN, and its transactions lock no rows"
        case .limitless:
            "it cannot attach partitions, and the ledger adds partitions as it grows"
        }
    }

    public var hint: String {
        kind == .citus
            ? "do not distribute the ledger's tables, or use a database without the extension citus"
            : "use PostgreSQL itself, 14 or later, managed or self-hosted"
    }

    /// The error that `migrate` throws on such an engine.
    var refusal: LedgerError {
        LedgerError(
            .ledgerBadConfiguration,
            during: "migrate",
            "the server is \(name), not PostgreSQL: \(reason)",
            hint: hint
        )
    }
}

extension Substring {
    /// The text after the first `mark`; `nil` without one.
    fileprivate func text(behind mark: String) -> String? {
        var rest = self
        while !rest.isEmpty {
            if rest.hasPrefix(mark) { return String(rest.dropFirst(mark.count)) }
            rest = rest.dropFirst()
        }
        return nil
    }
}

extension Connection {
    // Later queries run only if the earlier ones found nothing. Every engine still in question answers them.
    func foreignEngine() throws -> ForeignEngine? {
        let version: String = try value("select version()")
        if let engine = ForeignEngine(version: version, extensions: [], relations: []) { return engine }
        let extensions: [String] = try rows("select extname::text from pg_extension") { try $0[0] }
        let relations: [String] = try rows(
            """
            select nspname::text || '.' || relname::text from pg_class join pg_namespace on pg_namespace.oid = relnamespace
            where nspname in ('rds_aurora', 'sys')
            """
        ) { try $0[0] }
        return ForeignEngine(
            version: version,
            extensions: Set(extensions),
            relations: ForeignEngine.telltales.intersection(relations)
        )
    }
}

extension JobLedger {
    /// The engine of the server; `nil` for PostgreSQL itself. Needs no schema, and only the right to connect.
    public func foreignEngine() async throws -> ForeignEngine? {
        try await look("identify the server's engine") { connection in try connection.foreignEngine() }
    }
}
