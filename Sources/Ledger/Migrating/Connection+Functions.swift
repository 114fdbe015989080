import Conversion

extension Connection {
    /// Replaces the ledger's functions, views and grants by those of this binary, in the open transaction, and stores
    /// their digest with the last step.
    ///
    /// Functions and views that no file has any more are dropped, and so are those whose arguments, result or columns
    /// changed. Others keep their identity, so that calls in progress are not disturbed.
    func replaceFunctions(_ functions: LedgerFunctions, _ schema: SchemaName) throws {
        try execute(
            "select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = \(schema.text)"
        )
        // A function may call one that a later file makes.
        try execute("set local check_function_bodies = off")
        let before = try functionVersions(schema)
        for file in functions.files {
            do {
                try trying { try script(file.sql, changes: false) }
            } catch let error as LedgerError where error.changesSignature {
                try replaceOneByOne(file, before, schema)
            } catch {
                throw failedMigration("functions/\(file.name).sql", error)
            }
        }
        try dropLeftovers(functions, before, schema)
        try execute("reset check_function_bodies")
        try execute("select set_config('role', 'none', true)")
        try execute(
            """
            update \(schema).migration set functions = \(functions.digest)
            where version = (select max(version) from \(schema).migration)
            """
        )
    }

    /// Applies each statement of a file, and drops what it cannot replace.
    private func replaceOneByOne(_ file: LedgerFunctions.File, _ before: [FunctionVersion], _ schema: SchemaName) throws
    {
        for piece in file.pieces {
            do {
                do {
                    try trying { try script(piece.sql, changes: false) }
                } catch let error as LedgerError where error.changesSignature {
                    switch piece.kind {
                    case .view: try script("drop view \(piece.name)", changes: false)
                    case .function: try drop(before.filter { $0.name == piece.name }, schema)
                    }
                    try script(piece.sql, changes: false)
                }
            } catch {
                throw failedMigration("functions/\(file.name).sql, \(piece.name)", error)
            }
        }
    }

    /// Drops what no file has made in this transaction.
    private func dropLeftovers(_ functions: LedgerFunctions, _ before: [FunctionVersion], _ schema: SchemaName) throws {
        do {
            try drop(before.filter { !functions.ofTables.contains($0.name) }, schema)
            let views = Set(functions.files.flatMap(\.pieces).filter { $0.kind == .view }.map(\.name))
            let present: [String] = try rows(
                """
                select relname::text from pg_class c join pg_namespace n on n.oid = relnamespace
                where nspname = \(schema.text) and relkind = 'v'
                """
            ) { try $0[0] }
            for view in present where !views.contains(view) { try script("drop view \(view)", changes: false) }
        } catch {
            throw failedMigration("dropping functions that are gone", error)
        }
    }

    /// A function and the transaction that wrote it last.
    private struct FunctionVersion: Hashable {
        let name: String
        let oid: Int64
        let written: String
    }

    private func functionVersions(_ schema: SchemaName) throws -> [FunctionVersion] {
        try rows(
            """
            select proname::text, p.oid::bigint, p.xmin::text
            from pg_proc p join pg_namespace n on n.oid = pronamespace where nspname = \(schema.text)
            """
        ) { FunctionVersion(name: try $0[0], oid: try $0[1], written: try $0[2]) }
    }

    /// Drops those of these functions that have not been written since.
    private func drop(_ old: [FunctionVersion], _ schema: SchemaName) throws {
        let unchanged = Set(try functionVersions(schema)).intersection(old)
        guard !unchanged.isEmpty else { return }
        let names: [String] = try rows(
            "select p.oid::regprocedure::text from pg_proc p where p.oid::bigint = any (\(unchanged.map(\.oid)))"
        ) { try $0[0] }
        // In one statement, because they may depend on each other.
        try script("drop function \(names.joined(separator: ", "))", changes: false)
    }

    /// Runs `body` under a savepoint, to which the transaction returns if it fails.
    private func trying(_ body: () throws -> String) throws {
        try script("savepoint trying", changes: false)
        do {
            _ = try body()
        } catch {
            try script("rollback to savepoint trying; release savepoint trying", changes: false)
            throw error
        }
        try script("release savepoint trying", changes: false)
    }
}

extension LedgerError {
    /// Whether a function or a view cannot be replaced because its arguments, result or columns are different now.
    fileprivate var changesSignature: Bool { ["42P13", "42P16"].contains(sqlState) }
}
