import Foundation

/// A PgBouncer in transaction mode in front of a private server, removed when the tests end.
public final class PrivatePostgresBouncer: Sendable {
    private let supervisor: PrivatePostgresSupervisor

    /// Starts a bouncer whose clients share `poolSize` connections to the server. There may be `clients` of them.
    public static func start(
        before server: PrivatePostgres,
        poolSize: Int = 2,
        clients: Int = 200
    ) throws -> PrivatePostgresBouncer {
        try PrivatePostgresBouncer(server, poolSize, clients)
    }

    private init(_ server: PrivatePostgres, _ poolSize: Int, _ clients: Int) throws {
        // Debian installs it in a folder that only root has in PATH.
        let program = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/usr/local/bin/pgbouncer"]
            .first { FileManager.default.isExecutableFile(atPath: $0) }
        guard let program else { throw SupportError("find pgbouncer", "run scripts/prepare test") }
        supervisor = try PrivatePostgresSupervisor(script: Self.script, values: [program])
        let folder = supervisor.folder
        let lines = [
            "[databases]", "* = host=\(server.folder) port=\(server.port) user=postgres", "[pgbouncer]",
            "listen_addr =",
            "listen_port = 6432", "unix_socket_dir = \(folder)", "auth_type = any", "pool_mode = transaction",
            "default_pool_size = \(poolSize)", "max_client_conn = \(clients)", "query_wait_timeout = 0",
            "logfile = \(folder)/log", "pidfile = \(folder)/pid", "listen_backlog = 4096",
        ]
        for line in lines { try supervisor.obey("set", line) }
        try supervisor.obey("start")
    }

    /// The URL of a database, by way of the bouncer.
    public func url(database: String = "postgres") -> String {
        "postgresql://postgres@\(supervisor.folder.replacingOccurrences(of: "/", with: "%2F")):6432/\(database)"
    }

    /// The process id of the bouncer.
    public var processNumber: Int {
        get throws {
            let text = try String(contentsOfFile: supervisor.folder + "/pid", encoding: .utf8)
            guard let number = Int(text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
                throw SupportError("find the bouncer's process", text)
            }
            return number
        }
    }

    /// The last lines of its log.
    public var log: String { supervisor.log("log") }

    private static let script = """
        program=$1
        obey() {
            case $1 in
                set) echo "$2" >>settings.ini ;;
                start)
                    "$program" -q settings.ini &
                    bouncer=$!
                    tries=0
                    until [ -S .s.PGSQL.6432 ]; do
                        tries=$((tries + 1))
                        [ $tries -lt 10000 ] && kill -0 "$bouncer" || return 1
                        # A shell cannot wait for a socket to appear.
                        sleep 0.02
                    done ;;
                *) return 2 ;;
            esac
        }
        finish() { kill "$bouncer" && wait "$bouncer"; }
        """
}
