import Conversion

/// What the database permits to logins that have no role of the ledger, and what logins with one can use up for all.
public struct OpenRights: Sendable, Hashable {
    /// The name of the database as SQL has it, quoted where it must be.
    public var database: String
    /// The role that owns the ledger, as SQL has it. It keeps what the functions need.
    public var owner: String
    /// Logins without a role that may connect because each may; the first few. Those that administer the server are not
    /// among them.
    public var strangers: [String]
    /// Other logins than those of administrators, with a role of the ledger or without.
    public var hasLogins: Bool
    /// What PUBLIC may do, and every login with it.
    public var isPublic: Set<Right>
    /// Logins with a role whose forgotten transactions the server does not end; the first few.
    public var unlimited: [String]

    public enum Right: String, Sendable, Hashable, CaseIterable {
        case connect, temporary
        case largeObjects = "large_objects"
        case advisoryLocks = "advisory_locks"
        case tables
    }

    /// What takes the rights away that are public.
    public var statements: [String] {
        var statements: [String] = []
        if isPublic.contains(.connect) {
            let roles = "sluice_viewer, sluice_submitter, sluice_operator, sluice_worker, sluice_face, \(owner)"
            statements.append("grant connect on database \(database) to \(roles)")
        }
        if isPublic.contains(.temporary) {
            statements.append("grant temporary on database \(database) to \(owner)")
        }
        let rights = [Right.connect, .temporary].filter(isPublic.contains).map(\.rawValue)
        if !rights.isEmpty {
            statements.append("revoke \(rights.joined(separator: ", ")) on database \(database) from public")
        }
        if isPublic.contains(.largeObjects) {
            statements.append(
                "revoke execute on function lo_create(oid), lo_creat(integer), lo_from_bytea(oid, bytea) from public"
            )
        }
        if isPublic.contains(.advisoryLocks) {
            statements.append(
                "do $$ declare f text; begin for f in select oid::regprocedure from pg_proc "
                    + "where proname ~ '^pg_(try_)?advisory_(xact_)?lock' loop "
                    + "execute 'revoke execute on function ' || f || ' from public'; end loop; end $$"
            )
        }
        if isPublic.contains(.tables) { statements.append("revoke create on schema public from public") }
        return statements
    }
}

extension JobLedger {
    /// Looks for what other logins of the database can use up. Needs only the right to connect.
    public func openRights() async throws -> OpenRights {
        try await look("look at the rights of logins") { connection in
            let report = try connection.first(
                """
                with ours as materialized (
                    select r.oid from pg_roles r
                    where r.rolname in ('sluice_viewer', 'sluice_submitter', 'sluice_operator', 'sluice_worker', 'sluice_face')
                        or r.oid in (select n.nspowner from pg_namespace n where n.nspname = \(schema.text))
                ), login as materialized (
                    select r.oid, r.rolname::text as name,
                        exists (select from ours where pg_has_role(r.oid, ours.oid, 'member')) as has_role
                    from pg_roles r join pg_database d on d.datname = current_database()
                    where r.rolcanlogin and not r.rolsuper and not r.rolreplication and r.oid <> d.datdba
                        and not pg_has_role(r.oid, 'pg_read_all_stats', 'member')
                        and not pg_has_role(r.oid, 'pg_read_all_data', 'member')
                )
                select quote_ident(current_database()) as database,
                    coalesce((select quote_ident(pg_get_userbyid(n.nspowner)) from pg_namespace n
                        where n.nspname = \(schema.text)), 'current_user') as owner,
                    exists (select from login) as has_logins,
                    array(select name from login
                        where not has_role and has_database_privilege('public', current_database(), 'connect')
                        order by 1 limit 5) as strangers,
                    array(select quote_ident(name) from login where has_role and not exists (
                            select from pg_db_role_setting s cross join unnest(s.setconfig) c
                            where s.setrole in (0, login.oid) and c ~ '^idle_in_transaction_session_timeout=0*[1-9]'
                                and s.setdatabase in (0, (select d.oid from pg_database d where d.datname = current_database()))
                        ) and not exists (
                            select from pg_settings where name = 'idle_in_transaction_session_timeout'
                                and source = 'configuration file' and setting <> '0'
                        )
                        order by 1 limit 5) as unlimited,
                    array_remove(array[
                        case when has_database_privilege('public', current_database(), 'connect') then 'connect' end,
                        case when has_database_privilege('public', current_database(), 'temporary') then 'temporary' end,
                        case when has_function_privilege('public', 'pg_catalog.lo_create(oid)', 'execute')
                            then 'large_objects' end,
                        case when has_function_privilege('public', 'pg_catalog.pg_advisory_lock(bigint)', 'execute')
                            then 'advisory_locks' end,
                        case when to_regnamespace('public') is not null and has_schema_privilege('public', 'public', 'create')
                            then 'tables' end
                    ], null) as rights
                """
            ) { row in
                OpenRights(
                    database: try row["database"],
                    owner: try row["owner"],
                    strangers: try row["strangers"],
                    hasLogins: try row["has_logins"],
                    isPublic: Set((try row["rights"] as [String]).compactMap(OpenRights.Right.init)),
                    unlimited: try row["unlimited"]
                )
            }
            guard let report else {
                throw connection.failure(.ledgerUnexpectedAnswer, "the server returned no rights")
            }
            return report
        }
    }
}
