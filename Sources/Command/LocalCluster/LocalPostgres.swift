import Glibc
import Ledger

/// The PostgreSQL server of the private cluster: durable, and reachable by its socket alone, by its owner alone.
struct LocalPostgres: Sendable {
    let place: ClusterPlace
    let programs: PostgresPrograms

    init(_ place: ClusterPlace) throws(ClusterError) {
        self.place = place
        programs = try PostgresPrograms.find(for: place.data)
    }

    /// What its programs say before the server has begun to write logs of its own.
    var log: String { place.logs + "/postgres.log" }

    /// Where to look for what went wrong: what the server said last, in its own logs or before it had any.
    var newestLog: String {
        guard let own = ownLogs.last, LogTail.isYounger(own, than: log) else { return log }
        return own
    }

    /// The server's own logs, the youngest last: their names are times.
    private var ownLogs: [String] {
        PostgresPrograms.names(in: place.serverLogs).filter { $0.hasPrefix("postgres-") && $0.hasSuffix(".log") }
            .sorted()
            .map { "\(place.serverLogs)/\($0)" }
    }

    /// Removes all but the youngest of the server's own logs.
    func removeOldLogs() {
        for path in ownLogs.dropLast(PartLog.generations + 1) { unlink(path) }
    }

    /// The server collects the messages of its processes and rotates the file itself: another process would lose lines.
    private var logSettings: [String] {
        [
            "logging_collector=on", "log_directory=\(place.serverLogs)", "log_filename=postgres-%Y%m%d-%H%M%S.log",
            "log_rotation_size=\(place.logLimit / 1024)kB", "log_rotation_age=0", "log_truncate_on_rotation=off",
            "log_file_mode=0600", "log_timezone=UTC",
        ]
    }

    /// How commands reach the ledger in it.
    static func configuration(_ place: ClusterPlace) throws -> LedgerConfiguration {
        try LedgerConfiguration(url: "host='\(place.sockets)' port=5432 user=sluice dbname=postgres")
    }

    /// Makes the server's folder if there is none yet. What is half made has another name, and is made anew.
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

    /// fsync, full_page_writes and synchronous_commit are on as PostgreSQL comes: what was accepted stays.
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

    /// The role by which the server knows a client.
    private func ownName() throws(ClusterError) -> String {
        guard let entry = getpwuid(geteuid()) else {
            throw ClusterError("user \(geteuid()) has no name on this machine", hint: "add it to /etc/passwd")
        }
        return String(cString: entry.pointee.pw_name)
    }

    /// The words that start the server.
    var words: [String] { asOwner([programs.postgres, "-D", place.data] + logSettings.flatMap { ["-c", $0] }) }

    /// Whether the server in `place` takes connections, as its own file says.
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
