import Foundation
import Synchronization

/// A PostgreSQL server for the tests, reachable only through a unix socket, and removed when the tests end.
///
/// It trusts every user who can reach the socket, and does not wait for the disk.
public final class PrivatePostgres: Sendable {
    private let supervisor: PrivatePostgresSupervisor
    /// The open sessions of `ask`, by database.
    private let sessions = Mutex<[String: PsqlSession]>([:])
    /// The number in the name of the socket; also the TCP port of a server that listens on TCP.
    public let port: Int

    /// The server that all tests of this process share. A test that stops or kills its server starts its own with
    /// `start`.
    public static func shared() throws -> PrivatePostgres { try sharedServer.get() }

    /// Autovacuum is off because its locks would conflict with those of the tests at unpredictable moments.
    private static let sharedServer = Result { try start(settings: ["autovacuum": "off"]) }

    /// A folder with a fresh cluster, created once: copying it is faster than another initdb.
    private static let template = Result {
        let supervisor = try newSupervisor()
        try supervisor.obey("create")
        return supervisor
    }

    private static let lastNumber = Atomic<Int>(0)

    private init(_ supervisor: PrivatePostgresSupervisor, port: Int) {
        self.supervisor = supervisor
        self.port = port
    }

    /// Starts another server in a new folder in `parent`; `settings` become lines of its postgresql.conf.
    public static func start(settings: [String: String] = [:], in parent: String = "/tmp") throws -> PrivatePostgres {
        try start(settings: settings, port: 5_432, isCertified: false, in: parent)
    }

    /// Starts a standby with a copy of the data of `primary`, which it follows until it is promoted.
    static func startStandby(of primary: PrivatePostgres) throws -> PrivatePostgres {
        let supervisor = try newSupervisor()
        try supervisor.obey("follow", "\(primary.folder):\(primary.port)")
        // The copy includes the settings of its primary; the last line of a setting wins.
        try supervisor.obey("set", "unix_socket_directories = '\(supervisor.folder)'")
        try supervisor.obey("start", "2000")
        return PrivatePostgres(supervisor, port: primary.port)
    }

    /// Starts another server that also listens on a port of 127.0.0.1, with TLS and a certificate for `localhost`.
    public static func startWithTLS() throws -> PrivatePostgres {
        var tries = 0
        while true {
            do {
                let port = try freePort()
                return try start(
                    settings: ["listen_addresses": "'127.0.0.1'", "ssl": "on"],
                    port: port,
                    isCertified: true,
                    tries: 1
                )
            } catch {
                // Another process may have taken the port in between.
                tries += 1
                guard tries < 10 else { throw error }
            }
        }
    }

    /// The certificate file of a server that was started with TLS.
    public var certificate: String { folder + "/data/server.crt" }

    /// `tries` is the number of attempts to start it: processes of a killed server may still be exiting.
    private static func start(
        settings: [String: String],
        port: Int,
        isCertified: Bool,
        tries: Int = 2_000,
        in parent: String = "/tmp"
    ) throws -> PrivatePostgres {
        let supervisor = try newSupervisor(in: parent)
        try supervisor.obey("copy", try template.get().folder)
        let ours = [
            "listen_addresses": "''", "unix_socket_directories": "'\(supervisor.folder)'", "fsync": "off",
            "full_page_writes": "off", "shared_buffers": "32MB", "max_connections": "600", "jit": "off",
            "port": "\(port)",
        ]
        for (name, value) in ours.merging(settings, uniquingKeysWith: { $1 }).sorted(by: { $0.key < $1.key }) {
            try supervisor.obey("set", "\(name) = \(value)")
        }
        if isCertified { try supervisor.obey("certify") }
        try supervisor.obey("start", "\(tries)")
        return PrivatePostgres(supervisor, port: port)
    }

    /// A TCP port that was free just now.
    public static func freePort() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SupportError("open a socket", errno: errno) }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutableBytes(of: &address) { bytes in
            let plain = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            return bind(descriptor, plain, length) == 0 && getsockname(descriptor, plain, &length) == 0
        }
        guard isBound else { throw SupportError("find a free port", errno: errno) }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    // MARK: - Where it is

    /// The folder of the server's socket, which libpq accepts as a host.
    public var folder: String { supervisor.folder }

    /// The host in percent-encoded form, for a URL.
    public var host: String { folder.replacingOccurrences(of: "/", with: "%2F") }

    /// The URL of a database. The role is the superuser unless `user` names another.
    public func url(database: String = "postgres", user: String = "postgres") -> String {
        "postgresql://\(user)@\(host):\(port)/\(database)"
    }

    /// A name that is unique in this process, for a schema, a role or a channel.
    public static func freshName(_ stem: String = "test") -> String {
        "\(stem)_\(lastNumber.add(1, ordering: .relaxed).newValue)"
    }

    /// Creates an empty database and returns its name.
    public func createDatabase() throws -> String {
        let name = Self.freshName()
        try run("create database \(name)")
        return name
    }

    /// Creates the database `name` as a copy of `template`, to which no session is connected.
    public func copy(_ template: String, as name: String) throws {
        // The usual way goes block by block through the write-ahead log, which costs more than the two checkpoints of
        // this one on a server that does not wait for the disk.
        try run("create database \(name) template \(template) strategy file_copy")
    }

    /// Runs SQL with psql and returns the result: one row per line, columns separated by `|`.
    @discardableResult
    public func run(_ sql: String, database: String = "postgres", limit: Duration = .seconds(900)) throws -> String {
        try run(each: [sql], database: database, limit: limit)
    }

    /// Runs SQL like `run`, in a session that stays connected for further texts: for tests that ask until an answer
    /// changes. The session ends with an error, and when the server is stopped here.
    @discardableResult
    public func ask(_ sql: String, database: String = "postgres", limit: Duration = .seconds(900)) throws -> String {
        let session = try sessions.withLock { open in
            let session = try open[database] ?? PsqlSession(url(database: database))
            open[database] = session
            return session
        }
        do {
            return try session.run(sql, within: limit)
        } catch {
            endSession(of: database)
            throw error
        }
    }

    /// Ends the session of `ask` for a database that is no longer used.
    public func endSession(of database: String) { sessions.withLock { _ = $0.removeValue(forKey: database) } }

    /// Runs several texts in one session, each in its own transaction.
    @discardableResult
    public func run(
        each texts: [String],
        database: String = "postgres",
        limit: Duration = .seconds(900)
    ) throws -> String {
        try psql(texts, database, limit).outputText.trimmingCharacters(in: .newlines)
    }

    /// Runs SQL with psql and returns the server's messages: warnings, notices, and those lines of its log that
    /// `client_min_messages` lets through. Each begins with its level, as in `LOG:  `.
    public func messages(of sql: [String], database: String = "postgres") throws -> String {
        try psql(sql, database, .seconds(900)).errorText
    }

    private func psql(_ sql: [String], _ database: String, _ limit: Duration) throws -> Run {
        try Run.program(
            Self.program("psql"),
            ["-XAtq", "-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=terse", "-d", url(database: database)]
                + sql.flatMap { ["-c", $0] },
            limit: limit,
            keepsLoaded: true
        ).checked()
    }

    // MARK: - Stopping and starting

    /// How to stop a server; the names are pg_ctl's.
    public enum Stop: String, Sendable {
        /// Ends sessions and then exits cleanly.
        case fast
        /// Quits as in a crash: the next start runs recovery.
        case immediate
    }

    /// Stops the server and waits until it is gone.
    public func stop(_ how: Stop = .immediate) throws {
        sessions.withLock { $0.removeAll() }
        try supervisor.obey(how.rawValue)
    }

    /// Kills the server's first process with SIGKILL. The other processes notice and exit.
    public func kill() throws {
        sessions.withLock { $0.removeAll() }
        try supervisor.obey("kill")
    }

    /// Starts the server after `stop` or `kill`, on the same data.
    public func start() throws { try supervisor.obey("start") }

    /// Stops the server and starts it again.
    public func restart(_ how: Stop = .immediate) throws {
        try stop(how)
        try start()
    }

    /// Waits until the server accepts connections again after one of its processes crashed. Throws after five minutes.
    public func untilItAnswers() async throws {
        // The server writes to this file once it accepts connections.
        let file = folder + "/data/postmaster.pid"
        let answers = try await EventWait.until(.now + .seconds(300), changesOf: [file]) { [self] in
            try Run.program(Self.program("pg_isready"), ["-q", "-d", url()]).succeeded
        }
        guard answers else { throw SupportError("wait for PostgreSQL to recover", log) }
    }

    /// Stops all its processes with SIGSTOP, like a suspended machine: connections stay open, but no answer comes.
    public func freeze() throws { try supervisor.obey("freeze") }

    /// Resumes the processes after `freeze`.
    public func thaw() throws { try supervisor.obey("thaw") }

    /// From now on the server asks every role except the superuser for a password.
    public func demandPasswords() throws {
        try supervisor.obey("demand")
        try run("select pg_reload_conf()")
    }

    /// The last lines of the server's log.
    public var log: String { supervisor.log("log") }

    /// The server log's report of each deadlock: which process waited for which.
    public var deadlocks: [String] {
        supervisor.log("log", last: 10_000_000).components(separatedBy: " detected deadlock while ").dropFirst()
            .map { String($0.prefix(60_000)) }
    }

    // MARK: - Programs

    /// The folder of PostgreSQL's programs: that of SLUICE_TEST_POSTGRES, or the one that pg_config names, or the
    /// newest of Debian's.
    ///
    /// The variable lets the tests run against another version.
    static let programs = Result {
        if let wanted = ProcessInfo.processInfo.environment["SLUICE_TEST_POSTGRES"] { return wanted }
        let configured = (try? Run.program("pg_config", ["--bindir"]).checked().outputText) ?? ""
        let debian = "/usr/lib/postgresql"
        let versions = ((try? FileManager.default.contentsOfDirectory(atPath: debian)) ?? [])
            .compactMap { Int($0) }.sorted(by: >)
        let candidates = [configured.trimmingCharacters(in: .newlines)] + versions.map { "\(debian)/\($0)/bin" }
        // pg_config comes with the headers, so its folder may contain no server.
        guard let found = candidates.first(where: { FileManager.default.isExecutableFile(atPath: $0 + "/initdb") })
        else {
            throw SupportError("find PostgreSQL", "no initdb in \(candidates); run scripts/prepare test")
        }
        return found
    }

    /// The path of one of PostgreSQL's own programs.
    public static func program(_ name: String) throws -> String { try programs.get() + "/" + name }

    private static func newSupervisor(in parent: String = "/tmp") throws -> PrivatePostgresSupervisor {
        try PrivatePostgresSupervisor(script: script, values: [try programs.get()], in: parent)
    }

    /// The server is a child of the shell itself, so that the shell can wait for it.
    private static let script = """
        bin=$1
        server=
        start() {
            tries=0
            until start_once; do
                tries=$((tries + 1))
                [ $tries -lt "$1" ] || return 1
                # The processes of a killed server are not children of this shell, so it cannot wait for their end.
                sleep 0.05
            done
        }
        start_once() {
            "$bin/postgres" -D data >>log 2>&1 &
            server=$!
            # The file may still be that of a killed server.
            until [ "$(sed -n '1p; 8s/ *$//p' data/postmaster.pid | tr '\\n' ' ')" = "$server ready " ]; do
                kill -0 "$server" || return 1
                # A shell cannot wait for a change of a file; pg_ctl polls this file too.
                sleep 0.01
            done
        }
        stop() {
            kill -s "$1" "$server" || return 1
            wait "$server"  # its status is that of a server that was stopped
            server=
        }
        obey() {
            case $1 in
                create) "$bin/initdb" --no-sync --auth=trust --encoding=UTF8 --locale=C --username=postgres -D data ;;
                copy) cp -a "$2/data" data ;;
                follow)
                    "$bin/pg_basebackup" --no-sync --checkpoint=fast --write-recovery-conf --username=postgres \\
                        --host="${2%:*}" --port="${2##*:}" --pgdata=data ;;
                set) echo "$2" >>data/postgresql.conf ;;
                certify)
                    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \\
                        -subj /CN=localhost -keyout data/server.key -out data/server.crt ;;
                start) start "${2:-2000}" ;;
                fast) stop INT ;;
                immediate) stop QUIT ;;
                kill) stop KILL ;;
                # The server first, which starts the others.
                freeze) kill -s STOP "$server" && pkill -STOP -P "$server" ;;
                thaw) kill -s CONT "$server" && pkill -CONT -P "$server" ;;
                demand) printf 'local all postgres trust\\nlocal all all scram-sha-256\\n' >data/pg_hba.conf ;;
                *) return 2 ;;
            esac
        }
        finish() {
            [ -z "$server" ] || obey thaw
            [ -z "$server" ] || stop QUIT
        }
        """
}
