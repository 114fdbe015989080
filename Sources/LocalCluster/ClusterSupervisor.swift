import Conversion
import FoundationEssentials
import Glibc
import Ledger
import System

/// The supervisor of the private cluster: keeps its parts running, and stops them in order.
package final class ClusterSupervisor {
    private let place: ClusterPlace
    private let workerOptions: [String]
    private let server: LocalPostgres
    private var state: ClusterState
    private var wishes: ClusterWishes
    /// When a part that died may be restarted: at once, then with growing back-off while it keeps dying.
    private var pauses: [Part: Pause] = [:]
    private var isEnding = false
    /// The parts that this process has started: the kernel reports their ends.
    private var children: Set<Part> = []

    private enum Part: String, CaseIterable { case postgres, coordinator, worker }

    private struct Pause {
        var startedAt: ContinuousClock.Instant
        var wait: Duration
    }

    private init(_ place: ClusterPlace, workerOptions: [String]) throws(ClusterError) {
        (self.place, self.workerOptions) = (place, workerOptions)
        server = try LocalPostgres(place)
        state = ClusterState.read(place)
        wishes = ClusterWishes.read(place)
    }

    /// Runs until SIGTERM or SIGINT. Returns at once if another supervisor is running.
    ///
    /// `workerOptions` are options of the worker in addition to its name, its slots and its root.
    package static func run(_ place: ClusterPlace, workerOptions: [String]) throws(ClusterError) {
        // Block the signals before anything else, so that none is lost.
        var listened = sigset_t()
        sigemptyset(&listened)
        for number in [SIGTERM, SIGINT, SIGHUP, SIGCHLD] { sigaddset(&listened, number) }
        pthread_sigmask(SIG_BLOCK, &listened, nil)
        try place.prepare()
        guard let lock = try SupervisorLock.take(place) else { return }
        defer { lock.giveBack() }
        do throws(ClusterError) {
            let supervisor = try ClusterSupervisor(place, workerOptions: workerOptions)
            try supervisor.start()
            try supervisor.watch(&listened)
            _ = try PrivateCluster.stopParts(of: place)
        } catch {
            // For the command that is waiting for the start.
            var state = ClusterState.read(place)
            (state.problem, state.hint, state.isReady) = (error.message, error.hint, false)
            try state.write(place)
            throw error
        }
    }

    // MARK: - Starting

    private func start() throws(ClusterError) {
        state.supervisor = ProcessIdentity(of: getpid())
        (state.isReady, state.problem, state.hint) = (false, nil, nil)
        // Before there is a data folder; see `usualRoots`.
        if state.roots == nil, !place.usualRoots.isEmpty { state.roots = place.usualRoots }
        try state.write(place)
        guard !roots.isEmpty else {
            throw ClusterError(
                "your home folder is unknown, of which the private cluster would use the files",
                hint: "name other folders: sluice up --root NAME=PATH"
            )
        }
        try server.make()
        try startPostgres()
        try migrate()
        try fulfilWishes()
        state.slots = state.slots ?? slots
        state.isReady = true
        try state.write(place)
        say("ready")
    }

    private func startPostgres() throws(ClusterError) {
        if !isAlive(.postgres) { try start(.postgres) }
        let deadline = ContinuousClock.now + .seconds(60)
        while let process = state.postgres, ContinuousClock.now < deadline {
            if LocalPostgres.isReady(process, in: place) { return }
            // The server reports readiness in its postmaster.pid file and nowhere else; pg_ctl polls that file too.
            // If the server ends, `waitForEnd` returns early.
            if try process.waitForEnd(.milliseconds(5)) { break }
        }
        throw ClusterError(
            "PostgreSQL did not start",
            details: LogTail.lines(of: server.newestLog),
            hint: "full log: \(server.newestLog)"
        )
    }

    private func migrate() throws(ClusterError) {
        let configuration: LedgerConfiguration
        do {
            configuration = try LocalPostgres.configuration(place)
        } catch {
            throw ClusterError("\(error)")
        }
        let problem = TaskResult.wait { () async -> ClusterError? in
            do {
                _ = try await Migrator(configuration).run()
                return nil
            } catch {
                return ClusterError("the ledger cannot be upgraded: \(error)")
            }
        }
        if let problem { throw problem }
    }

    /// How long a part may take until it is ready. If it takes longer, its log says why. Parts wait ten seconds for roots
    /// that do not answer.
    private static let patience = Duration.seconds(15)

    /// Starts the parts, and waits until each can do its work: who is told that the cluster runs must not find a ledger
    /// without workers.
    private func startUntilReady(_ parts: [Part]) throws(ClusterError) {
        var sockets: [(part: Part, socket: ReadySocket)] = []
        for part in parts {
            let socket = try ReadySocket(at: place.readySocket(of: part.rawValue))
            sockets.append((part, socket))
            try start(part, announcingTo: socket.path)
        }
        let deadline = ContinuousClock.now + Self.patience
        for (part, socket) in sockets {
            if let process = process(of: part) { socket.wait(for: process, until: deadline) }
        }
        guard parts.contains(.worker) else { return }
        state.slots = slots
        try state.write(place)
    }

    /// The roots that the next worker and coordinator get.
    private var roots: [String] { wishes.roots ?? state.roots ?? [] }

    /// The page that the next coordinator serves.
    private var page: ClusterPage { wishes.page ?? ClusterPage() }

    /// The port at which the next coordinator serves its page, 0 for a free one; `nil` if it gets only a socket, because the
    /// machine lacks the address, as a container without any network does.
    private var pagePort: UInt16? {
        guard LocalPort.isReachable else { return nil }
        var port = page.port ?? 0
        if port != 0, !LocalPort.isFree(port) {
            // Without its port, the coordinator would not start. Each link has the port that it got.
            say("port \(port) is in use: the page gets another one")
            port = 0
        }
        return LocalPort.isFree(port) ? port : nil
    }

    /// The options with which the coordinator serves its page.
    private func pageOptions(_ port: UInt16?) -> [String] {
        // As `--context` names the cluster.
        let options = ["--page-name", "private", "--listen", place.pageSocket]
        return options + (port.map { ["--listen", "127.0.0.1:\($0)"] } ?? [])
    }

    /// How many the next worker gets.
    private var slots: Int { wishes.slots ?? max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }

    private func start(_ part: Part, announcingTo socket: String? = nil) throws(ClusterError) {
        let manager = socket.map { ["NOTIFY_SOCKET": $0] } ?? [:]
        let address = "host='\(place.sockets)' port=5432 user=sluice dbname=postgres"
        let program = try PrivateCluster.program()
        let started: ProcessIdentity
        switch part {
        case .postgres:
            started = try Daemon.start(
                server.words,
                log: server.log,
                variables: ["LC_ALL": "C", "PATH": "/usr/bin:/bin"]
            )
            state.postgres = started
        case .coordinator:
            place.links.withdraw()
            var variables = ["SLUICE_DATABASE_URL": address, PartLog.variable: place.coordinatorLog.path]
            var options = roots.flatMap { ["--root", $0] }
            if page.isServed {
                variables[PageLinks.variable] = place.links.folder
                let port = pagePort
                state.pageHasAddress = port != nil
                options += pageOptions(port)
            }
            // The private cluster does not use the settings of the machine's services.
            started = try Daemon.start(
                [program, "coordinator", "--config", "/dev/null"] + options,
                log: place.coordinatorLog.path,
                variables: variables.merging(manager) { $1 }
            )
            state.coordinator = started
        case .worker:
            started = try Daemon.start(
                [program, "worker", "--config", "/dev/null", "--name", "local", "--slots", "\(slots)"]
                    + roots.flatMap { ["--root", $0] } + workerOptions,
                log: place.workerLog.path,
                variables: ["SLUICE_DATABASE_URL": address, PartLog.variable: place.workerLog.path]
                    .merging(manager) { $1 }
            )
            // `up --slots` waits until the state has the number of slots, and so until the worker is ready.
            (state.worker, state.slots) = (started, socket == nil ? slots : nil)
        }
        children.insert(part)
        let before = pauses[part]
        let lived = before.map { ContinuousClock.now - $0.startedAt }
        let isStable = lived.map { $0 > .seconds(30) } ?? true
        pauses[part] = Pause(
            startedAt: .now,
            wait: isStable ? .milliseconds(100) : min((before?.wait ?? .milliseconds(100)) * 2, .seconds(30))
        )
        try state.write(place)
        say("started \(part.rawValue), process \(started.id)")
    }

    private func process(of part: Part) -> ProcessIdentity? {
        switch part {
        case .postgres: state.postgres
        case .coordinator: state.coordinator
        case .worker: state.worker
        }
    }

    private func isAlive(_ part: Part) -> Bool { process(of: part)?.isAlive ?? false }

    // MARK: - Watching

    /// Restarts parts that have died, until a signal stops the supervisor.
    private func watch(_ listened: inout sigset_t) throws(ClusterError) {
        while !isEnding {
            // SIGCHLD reports the end of a child. Parts that an earlier supervisor started are not children of this
            // process and must be polled. So must the logs, whose size is not urgent.
            let isAllWell = Part.allCases.allSatisfy { children.contains($0) && isAlive($0) }
            var longest = WaitTime.milliseconds(isAllWell ? 5_000 : 1_000)
            switch sigtimedwait(&listened, nil, &longest) {
            case SIGTERM, SIGINT: isEnding = true
            case SIGHUP:
                wishes = ClusterWishes.read(place)
                try fulfilWishes()
            default: break
            }
            var status: Int32 = 0
            while waitpid(-1, &status, WNOHANG) > 0 {}
            guard !isEnding else { return }
            rotateLogs()
            for part in Part.allCases where !isAlive(part) {
                guard let pause = pauses[part] else {
                    pauses[part] = Pause(startedAt: .now, wait: .milliseconds(100))
                    continue
                }
                guard ContinuousClock.now - pause.startedAt >= pause.wait else { continue }
                say("\(part.rawValue) has ended")
                try start(part)
            }
        }
    }

    /// Rotates logs that have grown too long. Runs every five seconds, so a log may exceed its limit by the output of
    /// that time.
    private func rotateLogs() {
        for log in [place.supervisorLog, place.coordinatorLog, place.workerLog] { log.rotate() }
        PartLog(path: server.log, limit: place.logLimit).rotate()
        server.removeOldLogs()
    }

    /// Starts the worker and the coordinator: those that are not running, and those that were started with other slots,
    /// other roots or another page than the user wants.
    private func fulfilWishes() throws(ClusterError) {
        let isMoved = roots != state.roots
        let isServedElse = page != state.page
        let isResized = wishes.slots.map { $0 != state.slots } ?? false
        let parts = [Part.coordinator, .worker].filter { part in
            isMoved || (part == .worker ? isResized : isServedElse) || !isAlive(part)
        }
        let outdated = parts.filter { isAlive($0) }
        if !outdated.isEmpty {
            let names = outdated.map(\.rawValue).joined(separator: " and ")
            say("restarting \(names) with \(Plural.count(slots, "slot")) and \(roots.joined(separator: " "))")
        }
        for part in outdated { process(of: part)?.send(SIGTERM) }
        for part in outdated { _ = try process(of: part)?.waitForEnd(.seconds(40)) }
        // Until the worker is ready, for a command that waits for it.
        if parts.contains(.worker) { state.slots = nil }
        state.roots = roots
        try startUntilReady(parts)
        // For a command that waits for the page: it is there now.
        state.page = page
        try state.write(place)
    }

    /// Writes a line to the log.
    private func say(_ text: String) {
        place.supervisorLog.follow()
        let line = Array("\(Date.now.ISO8601Format()) \(text)\n".utf8)
        // Standard error is the log; if the write fails, there is no other place to report it.
        _ = Glibc.write(STDERR_FILENO, line, line.count)
    }
}
