import Glibc
import System

/// The files and folders of a user's private cluster.
package struct ClusterPlace: Sendable {
    /// Holds everything but the socket.
    package let folder: String
    /// Holds the server's socket, and those of parts that are being started.
    package let sockets: String
    /// The user's home, of which the cluster uses the files; `nil` if it is unknown.
    let home: String?
    /// The account for PostgreSQL, which refuses to run as root; `nil` means the user's own account.
    let account: Account?

    /// The size in bytes at which a log is rotated.
    let logLimit: Int

    package var data: String { folder + "/postgres" }
    var logs: String { folder + "/log" }
    /// Where the server writes the logs that it rotates itself.
    var serverLogs: String { logs + "/postgres" }
    var supervisorLog: PartLog { PartLog(path: logs + "/supervisor.log", limit: logLimit) }
    var coordinatorLog: PartLog { PartLog(path: logs + "/coordinator.log", limit: logLimit) }
    var workerLog: PartLog { PartLog(path: logs + "/worker.log", limit: logLimit) }
    /// Where a part that is being started says that it is ready.
    func readySocket(of part: String) -> String { "\(sockets)/\(part).ready" }
    /// Where the coordinator serves the page of the cluster, besides an address of this machine.
    package var pageSocket: String { sockets + "/page.sock" }
    /// The one-time links to the page.
    package var links: PageLinks { PageLinks(folder: folder + "/page") }
    /// Locked by the supervisor of the cluster.
    var lock: String { folder + "/lock" }
    /// The parts that run, with their process identities.
    var state: String { folder + "/state.json" }
    /// The settings that the user asked for.
    var wishes: String { folder + "/wishes.json" }

    /// Another account on this machine.
    struct Account: Sendable {
        let name: String
        let user: uid_t
        let group: gid_t
    }

    /// Throws if the environment does not say where the user's data belongs.
    package init(environment: [String: String]) throws(ClusterError) {
        let isRoot = geteuid() == 0
        if let home = environment["XDG_DATA_HOME"], home.hasPrefix("/") {
            folder = home + "/sluice"
        } else if isRoot {
            // PostgreSQL's account cannot enter root's home.
            folder = "/var/lib/sluice"
        } else if let home = environment["HOME"], home.hasPrefix("/") {
            folder = home + "/.local/share/sluice"
        } else {
            throw ClusterError(
                "cannot find the data folder: neither HOME nor XDG_DATA_HOME is set",
                hint: "set XDG_DATA_HOME"
            )
        }
        let limit = environment[Self.logLimitVariable].flatMap { Int($0) }
        logLimit = max(PartLog.smallestLimit, limit ?? PartLog.usualLimit)
        account = isRoot ? try Self.postgresAccount() : nil
        sockets = Self.socketFolder(environment, folder, isRoot: isRoot)
        home = Self.home(environment)
    }

    /// The folder that HOME names, or else that of the user's account.
    private static func home(_ environment: [String: String]) -> String? {
        var candidates = [environment["HOME"]]
        if let entry = getpwuid(geteuid()), let folder = entry.pointee.pw_dir {
            candidates.append(String(validatingCString: folder))
        }
        return candidates.lazy.compactMap(\.self).first { path in
            var facts = stat()
            return path.hasPrefix("/") && stat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFDIR
        }
    }

    /// The roots of a cluster for which the user names none, as options of the worker: the user's home.
    ///
    /// A cluster of release 0.1 keeps `/`, because its jobs name their files from there. The supervisor records roots
    /// before there is a data folder, so a folder without recorded roots belongs to such a cluster. Empty if the home is
    /// unknown.
    var usualRoots: [String] {
        if access(data, F_OK) == 0 { return [Self.root(at: "/")] }
        return home.map { [Self.root(at: $0)] } ?? []
    }

    /// `local`, which commands use where no roots are named.
    private static func root(at path: String) -> String { "local=\(path)" }

    /// The variable that sets the size limit of a log in bytes, for machines with little disk space.
    static let logLimitVariable = "SLUICE_LOG_BYTES"

    private static func postgresAccount() throws(ClusterError) -> Account {
        guard let entry = getpwnam("postgres") else {
            throw ClusterError(
                "PostgreSQL cannot run as root, and the account \"postgres\" does not exist",
                hint: "install Debian's postgresql package, or run as another user"
            )
        }
        return Account(name: "postgres", user: entry.pointee.pw_uid, group: entry.pointee.pw_gid)
    }

    /// A folder whose name is short enough for the paths of its sockets.
    private static func socketFolder(_ environment: [String: String], _ folder: String, isRoot: Bool) -> String {
        let longest = LocalSocketAddress.longestPath - "/.s.PGSQL.5432.lock".utf8.count
        var candidates: [String] = []
        if !isRoot, let runtime = environment["XDG_RUNTIME_DIR"], runtime.hasPrefix("/"), access(runtime, W_OK) == 0 {
            // A user with two data folders has two clusters.
            candidates.append("\(runtime)/sluice-\(hash(folder))")
        }
        candidates.append(folder + "/run")
        return candidates.first { $0.utf8.count <= longest } ?? "/tmp/sluice-\(geteuid())-\(hash(folder))"
    }

    /// FNV-1a, which is the same in every process, unlike `Hasher`.
    private static func hash(_ text: String) -> String {
        String(text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0100_0000_01B3 }, radix: 36)
    }

    /// Creates missing folders, closed to other users as far as PostgreSQL's account allows.
    func prepare() throws(ClusterError) {
        try Self.makeFolders(folder, mode: account == nil ? 0o700 : 0o711)
        try Self.makeFolder(logs, mode: 0o700)
        try Self.makeFolder(serverLogs, mode: 0o700)
        try Self.makeFolder(links.folder, mode: 0o700)
        if account != nil {
            // PostgreSQL's account must pass through here to reach its logs. An earlier release created the folder
            // closed.
            guard chmod(logs, 0o711) == 0 else { throw ClusterError(errno, "open the way through \(logs)") }
        }
        try give(serverLogs)
        try Self.makeFolder(sockets, mode: 0o700)
        try give(sockets)
    }

    /// Gives a folder to PostgreSQL's account.
    ///
    /// Checks first that it is a real folder, belongs to this user or to that account, and is closed to others.
    /// Where every user may write, another user may have put a link there first, and the folder behind the link
    /// must keep its owner.
    private func give(_ path: String) throws(ClusterError) {
        let folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        defer { if folder >= 0 { close(folder) } }
        var facts = stat()
        guard folder >= 0, fstat(folder, &facts) == 0, facts.st_mode & 0o077 == 0,
            facts.st_uid == geteuid() || facts.st_uid == account?.user
        else {
            throw ClusterError(
                "\(path) must belong to this user and be closed to others",
                hint: "check its owner and mode"
            )
        }
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
