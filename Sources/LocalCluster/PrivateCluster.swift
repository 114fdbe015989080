import Glibc
import Ledger

/// The private cluster of one user on one machine: started on demand, stopped on request.
///
/// A supervisor, which is this program again, keeps a PostgreSQL server, a coordinator and a worker running. The
/// supervisor may be killed like any of them. The others go on without it; the next command that needs the cluster
/// starts another supervisor, which finds them.
package struct PrivateCluster: Sendable {
    package let place: ClusterPlace

    package init(environment: [String: String]) throws(ClusterError) {
        place = try ClusterPlace(environment: environment)
    }

    /// Longer than the first initdb takes on a slow disk.
    private static let patience = Duration.seconds(60)

    /// The roots of the cluster, as in options of its worker: those that it has, or that its first start will give it.
    package var roots: [String] {
        ClusterWishes.read(place).roots ?? ClusterState.read(place).roots ?? place.usualRoots
    }

    /// Starts what is not running, and waits until the ledger can be used. `slots`, `roots` and `page` hold from now on,
    /// unless they are `nil`. Calls `onWait` about every 20 ms meanwhile.
    package func ensureRunning(
        slots: Int? = nil,
        roots: [String]? = nil,
        page: ClusterPage? = nil,
        onWait: () -> Void = {}
    ) throws(ClusterError) -> ClusterState {
        let isChange = slots != nil || roots != nil || page != nil
        if !isChange, let state = runningState() { return state }
        try place.prepare()
        if isChange { try wish(slots, roots, page) }
        // Earlier starts have failed for other reasons, or for the same.
        let begin = LogTail.length(of: place.supervisorLog.path)
        var supervisor: ProcessIdentity?
        if !SupervisorLock.isHeld(place) {
            try requireServer()
            supervisor = try startSupervisor()
        }
        let deadline = ContinuousClock.now + Self.patience
        while ContinuousClock.now < deadline {
            if let state = runningState(), !isChange || state.has(slots, roots, page) { return state }
            let state = ClusterState.read(place)
            if let started = supervisor, !started.isAlive {
                // Another supervisor may have taken the lock first; it now runs the cluster.
                guard SupervisorLock.isHeld(place) else {
                    let said = [state.problem.map { "error: \($0)" }, state.hint.map { "hint:  \($0)" }]
                    throw ClusterError(
                        state.problem ?? "the private cluster did not start",
                        details: LogTail.lines(of: place.supervisorLog.path, from: begin).filter { !said.contains($0) },
                        hint: state.hint ?? "full logs: \(place.logs)"
                    )
                }
                supervisor = nil
            }
            onWait()
            // Poll, because the state is in a file, and the supervisor that writes it may be replaced meanwhile.
            // The interval also suits the progress that `onWait` shows.
            usleep(20_000)
        }
        throw ClusterError(
            "the private cluster did not start within \(Self.patience)",
            details: LogTail.lines(of: place.supervisorLog.path),
            hint: "see \(place.logs)",
            code: .unreachable
        )
    }

    /// Records what the user asks for, and has the supervisor read it.
    private func wish(_ slots: Int?, _ roots: [String]?, _ page: ClusterPage?) throws(ClusterError) {
        var wishes = ClusterWishes.read(place)
        wishes.slots = slots ?? wishes.slots
        wishes.roots = roots ?? wishes.roots
        wishes.page = page ?? wishes.page
        let isSupervised = SupervisorLock.isHeld(place)
        let state = ClusterState.read(place)
        if isSupervised, roots != nil || page != nil, state.isReady, state.roots == nil {
            let what = roots == nil ? "serves no page" : "cannot change its roots"
            throw ClusterError(
                "the private cluster was started by an earlier release, which \(what)",
                hint: "run \"sluice down\" first"
            )
        }
        try wishes.write(place)
        if isSupervised { state.supervisor?.send(SIGHUP) }
    }

    /// Throws if no PostgreSQL server is installed with which the cluster could start.
    package func requireServer() throws(ClusterError) { _ = try PostgresPrograms.find(for: place.data) }

    /// The state if the cluster is usable: the supervisor runs and the server accepts connections. Otherwise `nil`.
    package func runningState() -> ClusterState? {
        let state = ClusterState.read(place)
        // A server that was restarted after a crash recovers before it accepts connections.
        guard state.isReady, state.supervisor?.isAlive == true, let server = state.postgres, server.isAlive,
            LocalPostgres.isReady(server, in: place)
        else { return nil }
        return state
    }

    private func startSupervisor() throws(ClusterError) -> ProcessIdentity {
        // Nothing of the caller's environment is passed on.
        var variables = ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"]
        variables[ClusterPlace.logLimitVariable] = "\(place.logLimit)"
        variables["HOME"] = place.home
        variables["XDG_DATA_HOME"] = String(place.folder.dropLast("/sluice".count))
        if place.sockets.hasPrefix(place.folder) == false, let end = place.sockets.lastIndex(of: "/") {
            variables["XDG_RUNTIME_DIR"] = String(place.sockets[..<end])
        }
        return try Daemon.start(
            [try Self.program(), "supervise"],
            log: place.supervisorLog.path,
            variables: variables
        )
    }

    /// The path of this program, which stays valid after this process ends.
    static func program() throws(ClusterError) -> String {
        var letters = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &letters, letters.count - 1)
        guard count > 0 else { throw ClusterError(errno, "find this program") }
        return String(decoding: letters.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    // MARK: - Ending

    /// Stops everything, in order, without losing jobs. Returns whether anything was running.
    package func stop(onWait: () -> Void = {}) throws(ClusterError) -> Bool {
        let state = ClusterState.read(place)
        if let supervisor = state.supervisor, supervisor.isAlive {
            supervisor.send(SIGTERM)
            let deadline = ContinuousClock.now + .seconds(90)
            // Wakes up in between, so that `onWait` can show progress.
            while try !supervisor.waitForEnd(.milliseconds(20)) {
                guard ContinuousClock.now < deadline else {
                    throw ClusterError(
                        "the private cluster did not stop",
                        hint: "see \(place.logs)",
                        code: .failure
                    )
                }
                onWait()
            }
            return true
        }
        guard access(place.lock, F_OK) == 0 else { return false }
        // No supervisor runs, so stop the remaining parts here. Holding the lock keeps other commands from starting
        // one.
        guard let lock = try SupervisorLock.take(place) else { return try stop(onWait: onWait) }
        defer { lock.giveBack() }
        return try Self.stopParts(of: place)
    }

    /// Stops the parts that the state names: first those that write to the ledger, then the server.
    static func stopParts(of place: ClusterPlace) throws(ClusterError) -> Bool {
        var state = ClusterState.read(place)
        var didRun = false
        // The worker hands back the jobs that it cannot finish within its grace period.
        for (part, signal, limit) in [
            (state.worker, SIGTERM, Duration.seconds(40)), (state.coordinator, SIGTERM, .seconds(10)),
            (state.postgres, SIGINT, .seconds(30)),
        ] {
            guard let part, part.isAlive else { continue }
            didRun = true
            part.send(signal)
            if try part.waitForEnd(limit) { continue }
            // PostgreSQL never gets SIGKILL: SIGQUIT is its own immediate shutdown, from which it recovers.
            part.send(part == state.postgres ? SIGQUIT : SIGKILL)
            guard try part.waitForEnd(.seconds(30)) else {
                throw ClusterError("process \(part.id) does not exit", code: .failure)
            }
        }
        (state.worker, state.coordinator, state.postgres, state.isReady) = (nil, nil, nil, false)
        try state.write(place)
        return didRun
    }
}

/// The lock that lets one process at a time supervise a cluster. The kernel releases it when that process ends.
struct SupervisorLock {
    private let file: Int32

    /// Takes the lock; `nil` if another process holds it.
    static func take(_ place: ClusterPlace) throws(ClusterError) -> SupervisorLock? {
        let file = open(place.lock, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw ClusterError(errno, "open \(place.lock)") }
        if flock(file, LOCK_EX | LOCK_NB) == 0 { return SupervisorLock(file: file) }
        let number = errno
        close(file)
        guard number == EWOULDBLOCK else { throw ClusterError(number, "lock \(place.lock)") }
        return nil
    }

    static func isHeld(_ place: ClusterPlace) -> Bool {
        let file = open(place.lock, O_RDWR | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        return flock(file, LOCK_SH | LOCK_NB) != 0
    }

    func giveBack() { close(file) }
}
