import Glibc

/// Where the private cluster of a user lies.
struct ClusterPlace: Sendable {
    /// Holds everything but the socket.
    let folder: String
    /// Holds the server's socket.
    let sockets: String
    /// The account that PostgreSQL runs under, which refuses to run as root; `nil` is the user's own.
    let account: Account?

    /// How long a log becomes before another is begun.
    let logLimit: Int

    var data: String { folder + "/postgres" }
    var logs: String { folder + "/log" }
    /// Where the server writes its own, in files that it begins itself.
    var serverLogs: String { logs + "/postgres" }
    var supervisorLog: PartLog { PartLog(path: logs + "/supervisor.log", limit: logLimit) }
    var coordinatorLog: PartLog { PartLog(path: logs + "/coordinator.log", limit: logLimit) }
    var workerLog: PartLog { PartLog(path: logs + "/worker.log", limit: logLimit) }
    /// Held by the supervisor of the cluster.
    var lock: String { folder + "/lock" }
    /// What runs, and as which process.
    var state: String { folder + "/state.json" }
    /// What was asked for.
    var wishes: String { folder + "/wishes.json" }

    /// Another user of this machine.
    struct Account: Sendable {
        let name: String
        let user: uid_t
        let group: gid_t
    }

    /// Throws if nothing tells where a user's data belongs.
    init(environment: [String: String]) throws(ClusterError) {
        let isRoot = geteuid() == 0
        if let home = environment["XDG_DATA_HOME"], home.hasPrefix("/") {
            folder = home + "/sluice"
        } else if isRoot {
            // Root's home is closed to the account that PostgreSQL has to run under.
            folder = "/var/lib/sluice"
        } else if let home = environment["HOME"], home.hasPrefix("/") {
            folder = home + "/.local/share/sluice"
        } else {
            throw ClusterError("neither HOME nor XDG_DATA_HOME says where data belongs", hint: "set XDG_DATA_HOME")
        }
        let limit = environment[Self.logLimitVariable].flatMap { Int($0) }
        logLimit = max(PartLog.smallestLimit, limit ?? PartLog.usualLimit)
        account = isRoot ? try Self.postgresAccount() : nil
        sockets = Self.socketFolder(environment, folder, isRoot: isRoot)
    }

    /// The size limit of a log in bytes, for machines with little disk space.
    static let logLimitVariable = "SLUICE_LOG_BYTES"

    private static func postgresAccount() throws(ClusterError) -> Account {
        guard let entry = getpwnam("postgres") else {
            throw ClusterError(
                "PostgreSQL does not run as root, and there is no account \"postgres\"",
                hint: "install Debian's postgresql package, or run as another user"
            )
        }
        return Account(name: "postgres", user: entry.pointee.pw_uid, group: entry.pointee.pw_gid)
    }

    /// A socket's whole path has 107 bytes at most.
    private static func socketFolder(_ environment: [String: String], _ folder: String, isRoot: Bool) -> String {
        let longest = 107 - "/.s.PGSQL.5432.lock".utf8.count
        var candidates: [String] = []
        if !isRoot, let runtime = environment["XDG_RUNTIME_DIR"], runtime.hasPrefix("/"), access(runtime, W_OK) == 0 {
            // Two data homes of one user are two clusters.
            candidates.append("\(runtime)/sluice-\(hash(folder))")
        }
        candidates.append(folder + "/run")
        return candidates.first { $0.utf8.count <= longest } ?? "/tmp/sluice-\(geteuid())-\(hash(folder))"
    }

    /// FNV-1a: the same in every process, as a `Hasher` is not.
    private static func hash(_ text: String) -> String {
        String(text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0100_0000_01B3 }, radix: 36)
    }

    /// Creates the folders that are missing, closed to others as far as PostgreSQL's account allows.
    func prepare() throws(ClusterError) {
        try Self.makeFolders(folder, mode: account == nil ? 0o700 : 0o711)
        try Self.makeFolder(logs, mode: 0o700)
        try Self.makeFolder(serverLogs, mode: 0o700)
        if account != nil {
            // PostgreSQL's account goes through to its own folder. An earlier release closed the way.
            guard chmod(logs, 0o711) == 0 else { throw ClusterError(errno, "open the way through \(logs)") }
        }
        try give(serverLogs)
        try Self.makeFolder(sockets, mode: 0o700)
        try give(sockets)
    }

    /// Gives a folder to PostgreSQL's account, once it is known to be a folder of this user or that account and closed to others: in
    /// /tmp another user may have put a link there first, and the folder that it leads to must keep its owner.
    private func give(_ path: String) throws(ClusterError) {
        let folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        defer { if folder >= 0 { close(folder) } }
        var facts = stat()
        guard folder >= 0, fstat(folder, &facts) == 0, facts.st_mode & 0o077 == 0,
            facts.st_uid == geteuid() || facts.st_uid == account?.user
        else { throw ClusterError("\(path) is not a folder of this user's alone", hint: "look who made it") }
        guard let account, facts.st_uid != account.user else { return }
        guard fchown(folder, account.user, account.group) == 0 else {
            throw ClusterError(errno, "give \(path) to \(account.name)")
        }
    }

    private static func makeFolders(_ path: String, mode: mode_t) throws(ClusterError) {
        var here = ""
        let parts = path.split(separator: "/")
        for (index, part) in parts.enumerated() {
            here += "/" + part
            try makeFolder(here, mode: index == parts.count - 1 ? mode : 0o755)
        }
    }

    private static func makeFolder(_ path: String, mode: mode_t) throws(ClusterError) {
        guard mkdir(path, mode) != 0, errno != EEXIST else { return }
        throw ClusterError(errno, "create the folder \(path)")
    }
}

/// Why the private cluster cannot be had.
struct ClusterError: Error, Sendable {
    let message: String
    var details: [String] = []
    var hint: String?
    var exitCode = ExitCode.configuration

    init(_ message: String, details: [String] = [], hint: String? = nil, exitCode: ExitCode = .configuration) {
        (self.message, self.details, self.hint, self.exitCode) = (message, details, hint, exitCode)
    }

    /// Of a system call.
    init(_ number: Int32, _ operation: String) {
        self.init(
            "cannot \(operation): \(String(cString: strerror(number)))",
            exitCode: number == EACCES || number == EPERM ? .permission : .failure
        )
    }

    func show(on console: Console) { console.complain(message, details: details, hint: hint) }
}
