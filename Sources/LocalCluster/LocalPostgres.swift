import Glibc
package import Ledger

/// The PostgreSQL server of the private cluster: durable, and reachable only through its socket and only by its
/// owner.
package struct LocalPostgres: Sendable {
    let place: ClusterPlace
    let programs: PostgresPrograms

    init(_ place: ClusterPlace) throws(ClusterError) {
        self.place = place
        programs = try PostgresPrograms.find(for: place.data)
    }

    /// The output of PostgreSQL's programs before the server starts its own logs.
    var log: String { place.logs + "/postgres.log" }

    /// Where to look for the last error: the server's own log, or the earlier output if that is newer.
    var newestLog: String {
        guard let own = ownLogs.last, LogTail.isYounger(own, than: log) else { return log }
        return own
    }

    /// The server's own logs, newest last: their names contain the time.
    private var ownLogs: [String] {
        PostgresPrograms.names(in: place.serverLogs).filter { $0.hasPrefix("postgres-") && $0.hasSuffix(".log") }
            .sorted()
            .map { "\(place.serverLogs)/\($0)" }
    }

    /// Removes the server's own logs, except for the newest `PartLog.generations` + 1.
    func removeOldLogs() {
        for path in ownLogs.dropLast(PartLog.generations + 1) { unlink(path) }
    }

    /// The server's logging collector rotates its own log: another process would lose lines.
    private var logSettings: [String] {
        [
            "logging_collector=on", "log_directory=\(place.serverLogs)", "log_filename=postgres-%Y%m%d-%H%M%S.log",
            "log_rotation_size=\(place.logLimit / 1024)kB", "log_rotation_age=0", "log_truncate_on_rotation=off",
            "log_file_mode=0600", "log_timezone=UTC",
        ]
    }

    /// How commands connect to the ledger in this server.
    package static func configuration(_ place: ClusterPlace) throws -> LedgerConfiguration {
        try LedgerConfiguration(url: "host='\(place.sockets)' port=5432 user=sluice dbname=postgres")
    }

    /// Creates the server's data folder unless it exists. An unfinished folder has another name and is created
    /// again.
    func make() throws(ClusterError) {
        guard access(place.data + "/PG_VERSION", F_OK) != 0 else { return }
        let unfinished = place.data + ".new"
        try run(["rm", "-rf", unfinished])
        guard mkdir(unfinished, 0o700) == 0 else { throw ClusterError(errno, "create \(unfinished)") }
        if let account = place.account, chown(unfinished, account.user, account.group) != 0 {
            throw ClusterError(errno, "give \(unfinished) to \(account.name)")
        }
        try run(
            asOwner([
                programs.initdb, "-D", unfinished, "--username=sluice", "--auth=peer", "--encoding=UTF8", "--locale=C",
                "--data-checksums", "--no-instructions",
            ])
        )
        try write(settings, to: unfinished + "/sluice.conf")
        try write("include 'sluice.conf'\n", to: unfinished + "/postgresql.conf", appending: true)
        try write("local all sluice peer map=sluice\n", to: unfinished + "/pg_hba.conf")
        try write("sluice \(try ownName()) sluice\n", to: unfinished + "/pg_ident.conf")
        guard rename(unfinished, place.data) == 0 else { throw ClusterError(errno, "name \(place.data)") }
    }

    /// fsync, full_page_writes and synchronous_commit keep their default, which is on: accepted jobs survive a
    /// crash.
    private var settings: String {
        """
        listen_addresses = ''
        unix_socket_directories = '\(place.sockets)'
        unix_socket_permissions = 0777
        max_connections = 100
        shared_buffers = '128MB'
        max_wal_size = '2GB'
        jit = off
        cluster_name = 'sluice'

        """
    }

    /// The name of this user on the machine, which the server maps to the role `sluice`.
    private func ownName() throws(ClusterError) -> String {
        guard let entry = getpwuid(geteuid()) else {
            throw ClusterError("user \(geteuid()) has no name on this machine", hint: "add it to /etc/passwd")
        }
        return String(cString: entry.pointee.pw_name)
    }

    /// The command line that starts the server.
    var words: [String] { asOwner([programs.postgres, "-D", place.data] + logSettings.flatMap { ["-c", $0] }) }

    /// Whether `process` is the server in `place` and accepts connections, according to its postmaster.pid file.
    static func isReady(_ process: ProcessIdentity, in place: ClusterPlace) -> Bool {
        let file = open(place.data + "/postmaster.pid", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 1024)
        let count = read(file, &bytes, bytes.count)
        guard count > 0 else { return false }
        let lines = String(decoding: bytes.prefix(count), as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false)
        return lines.count > 7 && Int32(lines[0]) == process.id && lines[7].hasPrefix("ready")
    }

    // MARK: - Programs

    private func asOwner(_ words: [String]) -> [String] {
        guard let account = place.account else { return words }
        return ["setpriv", "--reuid=\(account.name)", "--regid=\(account.name)", "--init-groups"] + words
    }

    private func run(_ words: [String]) throws(ClusterError) {
        try Daemon.run(words, log: log, variables: ["PATH": "/usr/bin:/bin", "LC_ALL": "C"])
    }

    private func write(_ text: String, to path: String, appending: Bool = false) throws(ClusterError) {
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (appending ? O_APPEND : O_TRUNC), 0o600)
        guard file >= 0 else { throw ClusterError(errno, "write \(path)") }
        defer { close(file) }
        let bytes = Array(text.utf8)
        guard Glibc.write(file, bytes, bytes.count) == bytes.count else { throw ClusterError(errno, "write \(path)") }
        if let account = place.account, fchown(file, account.user, account.group) != 0 {
            throw ClusterError(errno, "give \(path) to \(account.name)")
        }
    }
}
