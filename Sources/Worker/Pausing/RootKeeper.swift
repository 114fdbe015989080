import Conversion
import Glibc
import Publishing
import Storage
import Synchronization
import System
import WorkerRules

/// The worker's roots, which may disappear and come back while it runs.
///
/// A root that fails is set aside: the worker leaves the jobs that need it to other workers, and does the rest.
final class RootKeeper: Sendable {
    /// A root that is not used for now.
    struct Absence: Sendable, Hashable {
        var reason: String
        /// The facts of its file system if that is full. The root can be used again once there is space.
        var full: FileSystemFacts?
        /// Whether its file system does not answer. It can be used again once it does.
        var isSilent = false
        let since: ContinuousClock.Instant
        /// Checks that found no change.
        var looks: Int
        /// When to check next.
        var due: ContinuousClock.Instant
    }

    /// The result of a check of a root that was set aside.
    enum Finding: Sendable, Hashable {
        case away
        /// The root can be used again. `note` describes the file system that has replaced the earlier one, if any.
        case back(note: String?)
    }

    private struct State {
        /// Without those that have not answered since the worker's start.
        var roots: [String: StorageRoot]
        var all: StorageRoots
        var usable: StorageRoots
        var absent: [String: Absence] = [:]
        /// When a root last came back, and after how many checks. A root that keeps disappearing is
        /// checked less and less often.
        var returned: [String: (at: ContinuousClock.Instant, looks: Int)] = [:]
        /// What was at the path of a lost root when the loss was noticed. Below a lost mount, its empty folder
        /// appears. The inner `nil` means that the path did not exist.
        var lost: [String: FileIdentity?] = [:]

        /// Counts changes of `absent`, so that an older state is never taken for a newer one.
        var changes = 0

        /// Computes `all` and `usable` again. The names cannot clash, because they are a dictionary's keys.
        mutating func sort() {
            do throws(StorageError) {
                all = try StorageRoots(Array(roots.values))
                usable = try StorageRoots(roots.values.filter { absent[$0.name] == nil })
            } catch {
                preconditionFailure("names of a dictionary differ: \(error)")
            }
        }
    }

    private let state: Mutex<State>
    private let places: [String: WorkerConfiguration.RootPlace]
    private let objectRoots: [String: ObjectRoot]
    /// One thread for each root, because a mount whose server is gone blocks the thread that checks it.
    private let lines: [String: RootLine]
    private let silenceLimit: Duration
    private let firstPause: Duration
    private let longestPause: Duration
    /// Signalled when a root is set aside or comes back.
    let signal = WakeSignal()

    /// Opens all roots, and sets aside those whose file systems do not answer. Throws if one cannot be opened, so that
    /// a wrong setting shows when the worker starts.
    static func open(_ configuration: WorkerConfiguration) async throws(StorageError) -> RootKeeper {
        try StorageRoots.check(names: configuration.roots.map(\.name))
        let names = configuration.roots.map(\.name) + configuration.objectRoots.map(\.name)
        let lines = Dictionary(names.map { ($0, RootLine("root \($0)")) }) { first, _ in first }
        let limit = configuration.silenceLimit
        let answers = await withTaskGroup(of: (Int, Opened?).self) { group in
            for (number, place) in configuration.roots.enumerated() {
                guard let line = lines[place.name] else { continue }
                group.addTask { (number, await line.ask(within: limit) { Self.open(place) }) }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        // In their order, so that of several mistakes always the same one shows.
        var roots: [StorageRoot] = []
        for number in configuration.roots.indices {
            if let root = try answers[number]?.get() { roots.append(root) }
        }
        let keeper = RootKeeper(configuration, lines, try StorageRoots(roots), roots)
        for (number, place) in configuration.roots.enumerated() where answers[number] == nil {
            _ = keeper.setAsideSilent(place.name)
        }
        try await keeper.checkObjectRoots()
        return keeper
    }

    /// Sets aside the roots whose servers do not answer. Throws if a root cannot be used as it is configured.
    private func checkObjectRoots() async throws(StorageError) {
        for name in objectRoots.keys.sorted() {
            guard let root = objectRoots[name], let line = lines[name],
                let problem = await line.ask({ root.problem() }) ?? nil
            else { continue }
            guard !problem.isMistake else { throw problem.error }
            _ = setAside(name, because: problem.error.failure)
        }
    }

    private typealias Opened = Result<StorageRoot, StorageError>

    private static func open(_ place: WorkerConfiguration.RootPlace) -> Opened {
        do throws(StorageError) {
            let root = try StorageRoot.open(name: place.name, path: place.path, rules: place.rules)
            // The kernel may open a folder that it remembers.
            root.awaitAnswer()
            try root.check()
            return .success(root)
        } catch {
            return .failure(error)
        }
    }

    private init(
        _ configuration: WorkerConfiguration,
        _ lines: [String: RootLine],
        _ all: StorageRoots,
        _ roots: [StorageRoot]
    ) {
        places = Dictionary(configuration.roots.map { ($0.name, $0) }) { first, _ in first }
        objectRoots = Dictionary(configuration.objectRoots.map { ($0.name, $0) }) { first, _ in first }
        let named = Dictionary(roots.map { ($0.name, $0) }) { first, _ in first }
        state = Mutex(State(roots: named, all: all, usable: all))
        self.lines = lines
        silenceLimit = configuration.silenceLimit
        (firstPause, longestPause) = (configuration.firstPause, configuration.longestPause)
    }

    /// All roots that are open.
    var roots: StorageRoots { state.withLock { $0.all } }
    /// The roots that are not set aside.
    var usable: StorageRoots { state.withLock { $0.usable } }
    /// The roots that are no folders.
    var objects: ObjectRoots {
        let absent = state.withLock { $0.absent }
        return ObjectRoots(usable: objectRoots.filter { absent[$0.key] == nil }, all: objectRoots)
    }
    /// Of all roots, sorted.
    var names: [String] { (Array(places.keys) + objectRoots.keys).sorted() }

    /// The roots that are set aside, for the worker's decisions.
    var changed: WorkerState.Event {
        state.withLock { state in
            .rootsChanged(
                absent: state.absent.mapValues(\.reason),
                silent: Set(state.absent.filter(\.value.isSilent).keys),
                change: state.changes
            )
        }
    }

    var absences: [String: Absence] { state.withLock { $0.absent } }

    // MARK: - Setting aside

    /// Sets a root aside; `full` is its file system, if the reason is that it is full. Returns the time until the
    /// first check, or `nil` if the root was set aside already or is unknown.
    func setAside(_ name: String, because failure: Failure, full: FileSystemFacts? = nil) -> Duration? {
        let wait = state.withLock { state -> Duration? in
            guard state.roots[name] != nil || objectRoots[name] != nil, state.absent[name] == nil else { return nil }
            let now = ContinuousClock.now
            let looks = state.returned[name].map { now - $0.at < longestPause ? $0.looks + 1 : 0 } ?? 0
            let wait = pause(after: looks)
            state.absent[name] = Absence(
                reason: "\(failure.code): \(failure.message)",
                full: full,
                since: now,
                looks: looks,
                due: now + wait
            )
            state.changes += 1
            state.sort()
            return wait
        }
        if wait != nil { signal.send() }
        return wait
    }

    /// Records that a root does not answer, for `limit`. Returns the failure that says so, or `nil` if that is known.
    func setAsideSilent(_ name: String, for limit: Duration? = nil) -> Failure? {
        let failure = state.withLock { state -> Failure? in
            guard let place = places[name], state.absent[name]?.isSilent != true else { return nil }
            let failure = StorageError.silence(of: name, at: place.path, for: limit ?? silenceLimit).failure
            let (now, before) = (ContinuousClock.now, state.absent[name])
            // The check is due at once: it returns when the root answers.
            state.absent[name] = Absence(
                reason: "\(failure.code): \(failure.message)",
                full: before?.full,
                isSilent: true,
                since: before?.since ?? now,
                looks: before?.looks ?? 0,
                due: now
            )
            state.changes += 1
            state.sort()
            return failure
        }
        if failure != nil { signal.send() }
        return failure
    }

    private func pause(after looks: Int) -> Duration { min(longestPause, firstPause * (1 << min(looks, 16))) }

    // MARK: - Checking again

    /// When to check the root next; `nil` if it is not set aside.
    func due(_ name: String) -> ContinuousClock.Instant? { state.withLock { $0.absent[name]?.due } }

    /// Checks whether a root that was set aside can be used again. If so, the worker uses it from now on. `beforehand`
    /// is done between the root's answer and its use.
    func look(for name: String, beforehand: () async -> Void) async -> Finding {
        guard let line = lines[name], let seen = await line.ask({ self.see(name) }) else { return .away }
        await beforehand()
        if Task.isCancelled { return .away }
        let finding = state.withLock { state -> Finding in
            guard var absence = state.absent[name] else { return .away }
            let now = ContinuousClock.now
            guard case .present(let note) = seen else {
                if case .refused(let reason?) = seen { absence.reason = reason }
                if case .full(let facts) = seen { absence.full = facts }
                absence.looks += 1
                absence.isSilent = false
                absence.due = now + pause(after: absence.looks)
                state.absent[name] = absence
                state.changes += 1
                return .away
            }
            state.absent[name] = nil
            state.returned[name] = (now, absence.looks)
            state.changes += 1
            state.sort()
            return .back(note: note)
        }
        if case .back = finding { signal.send() }
        return finding
    }

    /// What a check of a root that was set aside shows.
    private enum Sight: Sendable {
        case present(note: String?)
        case refused(String?)
        case full(FileSystemFacts)
    }

    private func see(_ name: String) -> Sight {
        let known = state.withLock { ($0.roots[name], $0.absent[name]) }
        guard let absence = known.1 else { return .refused(nil) }
        if let object = objectRoots[name] {
            guard let problem = object.problem()?.error else { return .present(note: nil) }
            return .refused("\(problem.failure.code): \(problem.detail)")
        }
        guard let root = known.0 else { return openLate(name) }
        root.awaitAnswer()
        var note: String?
        if let problem = problem(of: name) {
            guard root.isReplaced else { return .refused("\(problem.failure.code): \(problem.detail)") }
            switch reopen(root) {
            case .present(let what): note = what
            case .refused(let reason): return .refused("\(FailureCode.storageUnavailable.rawValue): \(reason)")
            }
        } else {
            state.withLock { _ = $0.lost.removeValue(forKey: name) }
        }
        if absence.full != nil, let facts = FileSystemFacts(path: root.path), facts.isFull { return .full(facts) }
        return .present(note: note)
    }

    /// Opens a root that did not answer when the worker started.
    private func openLate(_ name: String) -> Sight {
        guard let place = places[name] else { return .refused(nil) }
        switch Self.open(place) {
        case .success(let root):
            state.withLock { $0.roots[name] = root }
            return .present(note: nil)
        case .failure(let error):
            return .refused("\(FailureCode.storageUnavailable.rawValue): \(error.detail)")
        }
    }

    /// Whether the root's file system answers in time.
    func answers(_ name: String) async -> Bool {
        guard let line = lines[name], let root = state.withLock({ $0.roots[name] }) else { return true }
        return await line.ask(within: silenceLimit) { root.awaitAnswer() } != nil || Task.isCancelled
    }

    /// Why a root is not accessible; `nil` if it is. Only for a root that answers.
    func check(_ name: String) async -> StorageError? { await lines[name]?.ask { self.problem(of: name) } ?? nil }

    /// Why the root `name` is not accessible; `nil` if it is. Blocks.
    func problem(of name: String) -> StorageError? {
        if let object = objectRoots[name] { return object.problem()?.error }
        guard let root = state.withLock({ $0.roots[name] }) else { return nil }
        do throws(StorageError) {
            try root.check()
            return nil
        } catch {
            if root.isReplaced {
                let present = Self.identity(root.path)
                state.withLock { $0.lost[name] = $0.lost[name] ?? .some(present) }
            }
            return error
        }
    }

    /// Opens the root again if its path now leads to something that may be the root.
    private func reopen(_ root: StorageRoot) -> RootReturn {
        let came = root.whatCame(after: state.withLock { $0.lost[root.name] ?? nil })
        guard case .present = came else { return came }
        let opened: StorageRoot
        do throws(StorageError) {
            opened = try StorageRoot.open(name: root.name, path: root.path, rules: root.rules)
        } catch {
            return .refused(error.detail)
        }
        state.withLock { state in
            state.roots[root.name] = opened
            state.lost[root.name] = nil
            state.sort()
        }
        return came
    }

    private static func identity(_ path: String) -> FileIdentity? {
        var raw = stat()
        guard stat(path, &raw) == 0 else { return nil }
        return FileIdentity(device: UInt64(raw.st_dev), inode: UInt64(raw.st_ino))
    }
}
