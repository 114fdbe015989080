import Glibc
import Publishing
import Storage
import Synchronization

/// The worker's roots, which may go away and come back while it runs.
final class RootKeeper: Sendable {
    private struct State {
        var roots: [String: StorageRoot]
        var all: StorageRoots
        /// What stood at the path of a lost root when the loss was noticed: under a lost mount its empty folder comes to
        /// light. `nil` inside: nothing did.
        var lost: [String: FileIdentity?] = [:]
    }

    private let state: Mutex<State>
    private let queue = BlockingQueue("roots")

    /// Opens all. Throws if one cannot be opened: a worker that is started wrongly says so.
    init(_ places: [WorkerConfiguration.RootPlace]) throws(StorageError) {
        var roots: [StorageRoot] = []
        for place in places { roots.append(try StorageRoot.open(name: place.name, path: place.path)) }
        let all = try StorageRoots(roots)
        let named = Dictionary(roots.map { ($0.name, $0) }) { first, _ in first }
        state = Mutex(State(roots: named, all: all))
    }

    /// As they are now.
    var roots: StorageRoots { state.withLock { $0.all } }
    var names: [String] { roots.names }

    /// Looks whether all are there, opens anew those that came back, and says what is wrong.
    func check() async -> [StorageError] {
        await queue.run { self.checkNow() }
    }

    /// Whether the root `name` is there. Blocks.
    func problem(of name: String) -> StorageError? {
        guard let root = state.withLock({ $0.roots[name] }) else { return nil }
        do throws(StorageError) {
            try root.check()
            return nil
        } catch {
            let present = Self.identity(root.path)
            state.withLock { $0.lost[name] = $0.lost[name] ?? .some(present) }
            return error
        }
    }

    private func checkNow() -> [StorageError] {
        var problems: [StorageError] = []
        for (name, root) in state.withLock({ $0.roots }) {
            guard let problem = problem(of: name) else {
                state.withLock { _ = $0.lost.removeValue(forKey: name) }
                continue
            }
            if !reopen(root) { problems.append(problem) }
        }
        return problems
    }

    /// Opens the root again if something else has come to its path since it was lost: the share is mounted again.
    private func reopen(_ root: StorageRoot) -> Bool {
        let present = Self.identity(root.path)
        let atLoss = state.withLock { $0.lost[root.name] ?? nil }
        guard let present, present != atLoss,
            let opened = try? StorageRoot.open(name: root.name, path: root.path)
        else { return false }
        return state.withLock { state in
            state.roots[root.name] = opened
            guard let all = try? StorageRoots(Array(state.roots.values)) else { return false }
            state.all = all
            state.lost[root.name] = nil
            return true
        }
    }

    private static func identity(_ path: String) -> FileIdentity? {
        var raw = stat()
        guard stat(path, &raw) == 0 else { return nil }
        return FileIdentity(device: UInt64(raw.st_dev), inode: UInt64(raw.st_ino))
    }

    // MARK: - Room

    /// Whether the disk under a root is full by itself, rather than by what one job wanted to write. Blocks.
    ///
    /// What the job wrote is gone by now, so a disk that is still full was so before it.
    func isFull(_ name: String) -> Bool {
        guard let root = state.withLock({ $0.roots[name] }) else { return false }
        var facts = statvfs()
        guard statvfs(root.path, &facts) == 0 else { return false }
        let free = UInt64(facts.f_bavail) * UInt64(facts.f_frsize)
        let all = UInt64(facts.f_blocks) * UInt64(facts.f_frsize)
        let isOutOfNames = facts.f_files > 0 && facts.f_favail == 0
        return isOutOfNames || free < min(Self.leastRoom, all / 100)
    }

    private static let leastRoom: UInt64 = 64 << 20
}
