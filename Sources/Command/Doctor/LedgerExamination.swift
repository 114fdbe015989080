import API
import Console
import Conversion
import FoundationEssentials
import Ledger

/// Checks the ledger: the server, the rights of this role, the schema, housekeeping and the workers.
struct LedgerExamination: Sendable {
    let configuration: LedgerConfiguration
    /// Whether the address is that of this machine's services.
    let isForServices: Bool

    func findings() async -> [Finding] {
        var findings: [Finding] = []
        do {
            let ledger = try JobLedger(configuration)
            if let engine = try await ledger.foreignEngine() {
                findings.append(Self.finding(of: engine))
                // Other engines do not support all of the queries below.
                guard !engine.isRefused else {
                    await ledger.close()
                    return findings
                }
            }
            let server = try await ledger.inspectServer()
            findings += Self.server(server)
            findings.append(try await schema())
            findings += role(server)
            findings += Self.logins(try await ledger.openRights(), server)
            guard !server.isForOthersOnly else {
                // It may not ask for the rest in its own name.
                await ledger.close()
                return findings
            }
            findings.append(Self.finding(of: server.lockTable(spans: try await ledger.spanCount())))
            findings += try await house(ledger)
            await ledger.close()
        } catch let error as LedgerError {
            findings.append(.fail("ledger", error.detail.printable, error.hint?.printable ?? Self.hint(for: error)))
        } catch {
            findings.append(.fail("ledger", "\(error)".printable, "see the server's log"))
        }
        return findings
    }

    private static func hint(for error: LedgerError) -> String {
        switch error.code {
        case .ledgerMissing, .ledgerSchemaTooOld: "sluice migrate"
        case .ledgerPermissionDenied: "check the user in the address, and the server's pg_hba.conf"
        default: "check the address, and that the server runs"
        }
    }

    // MARK: - Server

    private static func finding(of engine: ForeignEngine) -> Finding {
        engine.isRefused
            ? .fail("engine", "\(engine.name) is not PostgreSQL: \(engine.reason)".printable, engine.hint)
            : .warn("engine", "the database has \(engine.name): \(engine.reason)", engine.hint)
    }

    private static func server(_ report: ServerReport) -> [Finding] {
        var findings: [Finding] = []
        let name = "postgres \(report.version)"
        findings.append(
            report.versionNumber >= 140_000
                ? .ok("server", name)
                : .fail("server", "\(name) is not supported", "move the ledger to PostgreSQL 14 or later")
        )
        if report.isReadOnly {
            findings.append(
                .fail(
                    "server",
                    "the server is read-only: a standby, or default_transaction_read_only",
                    "name all hosts of the cluster and add target_session_attrs=read-write"
                )
            )
        }
        let weak = report.durability.filter { $0.value == "off" }.keys.sorted()
        findings.append(
            weak.isEmpty
                ? .ok(
                    "durability",
                    report.durability.sorted { $0.key < $1.key }.map { "\($0) \($1)" }.joined(separator: ", ")
                )
                : .fail(
                    "durability",
                    "\(weak.joined(separator: ", ")) off: a crash loses jobs that were accepted",
                    "turn on in postgresql.conf: \(weak.joined(separator: ", "))"
                )
        )
        if report.isLocal {
            findings.append(.ok("encryption", "a socket of this machine"))
        } else if report.isEncrypted {
            findings.append(.ok("encryption", "TLS"))
        } else {
            findings.append(
                .warn("encryption", "the connection is not encrypted", "add sslmode=verify-full to the address")
            )
        }
        findings.append(
            report.isPooled
                ? .warn(
                    "pooler",
                    "connected through a pooler: workers poll every two seconds instead of being notified",
                    "let workers connect to the server directly, if it has enough connections"
                )
                : .ok("pooler", "none; workers are notified of new jobs")
        )
        findings.append(clock(report))
        let share = report.usedConnections * 100 / max(1, report.maxConnections)
        let used = "\(report.usedConnections) of \(report.maxConnections) connections in use"
        findings.append(
            share < 80
                ? .ok("connections", used)
                : .warn(
                    "connections",
                    used,
                    "raise max_connections, or use PgBouncer; a worker process needs three"
                )
        )
        return findings
    }

    private static func finding(of table: LockTable) -> Finding {
        let capacity = "the lock table has space for \(Figures.count(table.places, "lock"))"
        guard !table.isEnough else { return .ok("locks", "\(capacity), \(Figures.count(table.spans, "partition"))") }
        return .warn(
            "locks",
            "\(capacity); \(Figures.count(table.sessions, "connection")) and \(Figures.count(table.spans, "partition")) may need \(table.needed)",
            "set max_locks_per_transaction = \(table.wantedLocksPerTransaction) in postgresql.conf and restart the server"
        )
    }

    private static func clock(_ report: ServerReport) -> Finding {
        let lead = abs(report.clockLead / .seconds(1)) - report.clockDoubt / .seconds(2)
        guard lead > 2 else { return .ok("clock", "in step with the server") }
        let side = report.clockLead > .zero ? "behind" : "ahead of"
        return .warn(
            "clock",
            "this machine's clock is \(Int(lead)) s \(side) the server's: leases are unaffected, but times in logs are wrong",
            "synchronize both clocks (NTP)"
        )
    }

    // MARK: - Schema and rights

    private func schema() async throws -> Finding {
        let plan = try await Migrator(configuration).plan()
        let known = Migrator.version
        let name = "schema \(configuration.schema.text) at version \(plan.version)"
        if plan.version == 0 { return .fail("schema", "it contains no ledger", "sluice migrate") }
        guard plan.pending.isEmpty else {
            return .fail("schema", "\(name); this command needs \(known)", "sluice migrate")
        }
        guard !plan.replacesFunctions else {
            return .fail("schema", "\(name), with the functions of another build", "sluice migrate")
        }
        guard plan.version == known else {
            return .ok("schema", "\(name), newer than this command and compatible with it")
        }
        return .ok("schema", "\(name), which this command needs")
    }

    private func role(_ report: ServerReport) -> [Finding] {
        if report.isSuperuser {
            guard report.isLocal else {
                return [
                    .warn(
                        "role",
                        "\(report.user.printable) is a superuser",
                        "give workers a login that is only a member of sluice_worker"
                    )
                ]
            }
            return [.ok("role", "\(report.user.printable), a superuser")]
        }
        let roles = report.roles.map { String($0.dropFirst("sluice_".count)) }
        guard !roles.isEmpty else {
            return [
                .fail(
                    "role",
                    "\(report.user.printable) has none of the roles",
                    "grant sluice_viewer, sluice_submitter, sluice_operator or sluice_worker to it"
                )
            ]
        }
        let user = report.user.printable
        if isForServices, !roles.contains("worker"), !roles.contains("face") {
            return [
                .fail(
                    "role",
                    "\(user): \(roles.joined(separator: ", ")); no worker or coordinator of this machine can use it",
                    "an administrator runs: grant sluice_worker to \(user)"
                )
            ]
        }
        if report.isForOthersOnly {
            return [
                .warn(
                    "role",
                    "\(report.user.printable): face; a coordinator keeps house and acts for the holders of tokens with it, "
                        + "but it sees nothing itself",
                    "that is right for a coordinator; examine the rest of the ledger with a login of sluice_operator"
                )
            ]
        }
        return [.ok("role", "\(report.user.printable): \(roles.joined(separator: ", "))")]
    }

    /// What one login could use up for all others.
    private static func logins(_ rights: OpenRights, _ server: ServerReport) -> [Finding] {
        guard rights.hasLogins else { return [.ok("logins", "none but those of administrators")] }
        var findings: [Finding] = []
        let remedy =
            "unless another program uses this database, as an administrator: "
            + rights.statements.joined(separator: "; ").printable
        if !rights.strangers.isEmpty {
            let names = rights.strangers.joined(separator: ", ").printable
            findings.append(.warn("logins", "without a role of the ledger, and may connect: \(names)", remedy))
        } else if !rights.isPublic.isEmpty {
            let open = OpenRights.Right.allCases.filter(rights.isPublic.contains).map(words)
            findings.append(.warn("logins", "each may \(open.joined(separator: ", "))", remedy))
        } else {
            findings.append(.ok("logins", "only those with a role may connect, and make no tables of their own"))
        }
        if let first = rights.unlimited.first {
            findings.append(
                .warn(
                    "logins",
                    "no limit for idle transactions: \(rights.unlimited.joined(separator: ", "))".printable,
                    "alter role \(first) set idle_in_transaction_session_timeout = '5min'".printable
                )
            )
        }
        if server.maxPreparedTransactions > 0 {
            findings.append(
                .warn(
                    "logins",
                    "each may leave prepared transactions behind, which hold locks without a session",
                    "set max_prepared_transactions = 0 in postgresql.conf, unless another program needs them"
                )
            )
        }
        return findings
    }

    private static func words(_ right: OpenRights.Right) -> String {
        switch right {
        case .connect: "connect"
        case .temporary: "make temporary tables"
        case .largeObjects: "make large objects"
        case .advisoryLocks: "fill the server's table of locks with advisory locks"
        case .tables: "make tables in the schema public"
        }
    }

    // MARK: - Housekeeping and workers

    private func house(_ ledger: JobLedger) async throws -> [Finding] {
        var findings: [Finding] = []
        let status = try await ledger.status()
        let sinceTick = status.keptHouseAt.map { status.time.timeIntervalSince($0) }
        if let sinceTick, sinceTick < 60 {
            findings.append(.ok("housekeeping", "\(Int(sinceTick)) s ago"))
        } else {
            findings.append(
                .warn(
                    "housekeeping",
                    sinceTick.map { "housekeeping has not run for \(Int($0 / 60)) min" }
                        ?? "housekeeping has never run",
                    "start a coordinator, or a worker: sluice coordinator"
                )
            )
        }
        for chore in try await ledger.chores() {
            if let error = chore.error {
                let words = [error.printable, chore.progress(at: status.time)].compactMap(\.self).joined(
                    separator: "; "
                )
                findings.append(.warn("housekeeping", "\(chore.name): \(words)", "it is retried when it is due"))
            } else if let progress = chore.progress(at: status.time) {
                findings.append(.ok("housekeeping", "\(chore.name): \(progress)"))
            }
        }
        let summaries = try await ledger.workers()
        let workers = WorkerCensus(summaries, at: status.time)
        findings.append(
            workers.alive > 0
                ? .ok("workers", workers.words)
                : .warn(
                    "workers",
                    "no workers are running",
                    "start one with sluice worker, or with sluice up on a single machine"
                )
        )
        findings += Self.owners(of: summaries.filter { $0.endedAt == nil && $0.leaseUntil > status.time })
        let troubles = summaries.troubles(at: status.time)
        for trouble in troubles { findings.append(Self.finding(of: trouble)) }
        for hold in try await ledger.holds() {
            findings.append(
                .warn(
                    "tenant \(hold.tenant.printable)",
                    hold.note(at: status.time),
                    "sluice tenants limit \(ShellWord.quoted(hold.tenant).printable) changes its limits"
                )
            )
        }
        if let unsent = try await ledger.unsentDeliveries() {
            let hint = "if one runs, see its log; a coordinator that sends webhooks logs in as a member of sluice_face"
            findings.append(.warn("webhooks", unsent.note(at: status.time), hint))
        }
        for line in try await ledger.unableLanes() where !troubles.contains(where: { $0.explains(line) }) {
            let missing = line.missing.isEmpty ? line.needs : line.missing
            findings.append(
                .warn(
                    "queue \(line.queue.printable)",
                    "no worker can do jobs that need \(missing.joined(separator: ", ").printable), such as job \(line.example)",
                    "start a worker with what is missing: root:NAME needs --root NAME=PATH, codec:NAME needs libav with that encoder, libav:N needs libavcodec N, format:NAME a worker whose --formats permits it"
                )
            )
        }
        return findings
    }

    /// Network file systems know users by their numbers.
    private static func owners(of workers: [WorkerSummary]) -> [Finding] {
        let byUser = Dictionary(grouping: workers.filter { $0.status.userID != nil }) { $0.status.userID ?? 0 }
        guard byUser.count > 1 else { return [] }
        let words = byUser.sorted { $0.key < $1.key }.map { user, workers in
            "\(user) (\(Figures.count(workers.count, "worker")), such as \(workers[0].name) on \(workers[0].host))"
        }
        return [
            .warn(
                "owners",
                "workers write as users with different numbers: \(words.joined(separator: ", "))".printable,
                "where they share a file system, give their user one number on all machines (docs/install.md)"
            )
        ]
    }

    private static func finding(of trouble: WorkerTrouble) -> Finding {
        switch trouble.kind {
        case .full(let full):
            .warn(
                "file system \(full.mountPoint.printable)",
                "full, reported by worker \(trouble.worker.printable) on \(trouble.host.printable): \(trouble.fullness)",
                "free space on it: jobs that write to it wait, and continue automatically"
            )
        case .missing(let missing):
            .warn(
                "file system \(missing.mountPoint.printable)",
                "not mounted, reported by worker \(trouble.worker.printable) on \(trouble.host.printable): \(trouble.absence.printable)",
                "mount it again: jobs with files on it wait, and continue automatically"
            )
        case .denied(let root):
            .warn(
                "root \(root.name.printable)",
                "worker \(trouble.worker.printable) on \(trouble.host.printable) may not write to it, \(trouble.denial.printable)",
                "let that worker's user write to \(root.path.printable) on that machine: the jobs wait, and continue automatically"
            )
        case .roots, .paused:
            .warn(
                "worker \(trouble.worker.printable)",
                trouble.note.printable,
                "correct this; the worker checks again automatically"
            )
        }
    }
}

extension ServerReport {
    /// Whether the login is that of a coordinator, which takes the roles of others.
    fileprivate var isForOthersOnly: Bool { !isSuperuser && roles == ["sluice_face"] }
}

extension ChoreRecord {
    /// Progress of a chore that has run for over five seconds or that failed; `nil` otherwise.
    fileprivate func progress(at time: Date) -> String? {
        let begun = startedAt.map { time.timeIntervalSince($0) }
        guard error != nil || begun.map({ $0 > 5 }) ?? false else { return nil }
        var words: [String] = []
        if let begun { words.append("\(Figures.grouped(affected)) done in \(TimeWords.span(seconds: begun))") }
        if let remaining { words.append("\(Figures.grouped(remaining))\(remaining < 100_000 ? "" : " or more") left") }
        words.append(
            finishedAt.map { "last finished \(TimeWords.span(seconds: time.timeIntervalSince($0))) ago" }
                ?? "never finished"
        )
        return words.joined(separator: ", ")
    }
}
