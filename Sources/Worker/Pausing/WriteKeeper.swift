import Conversion
import Storage
import Synchronization
import System

/// Tracks roots to whose own folders this worker's user may not write. The worker puts off jobs that were denied there,
/// without spending an attempt. It still does jobs that read from the root or write to its open subfolders.
final class WriteKeeper: Sendable {
    /// A root that denied a job.
    struct Aside: Sendable, Hashable {
        let root: String
        /// The path of its folder.
        let path: String
        let reason: String
        let since: ContinuousClock.Instant
        /// When a job was last denied.
        var needed: ContinuousClock.Instant
    }

    private let aside = Mutex<[String: Aside]>([:])
    private let longestPause: Duration
    /// Signalled when a root is set aside.
    let signal = WakeSignal()

    /// How often the worker tries to write while jobs wait.
    static let interval = Duration.seconds(2)

    init(_ configuration: WorkerConfiguration) { longestPause = configuration.longestPause }

    var all: [Aside] { aside.withLock { $0.values.sorted { $0.root < $1.root } } }

    /// Sets a root aside that denied a job. Returns since when it has been, and whether that is new.
    func setAside(_ root: StorageRoot, because denial: StorageError) -> (aside: Aside, isNew: Bool) {
        let reason = "\(denial.failure.code): \(denial.detail)"
        let (entry, isNew) = aside.withLock { aside in
            let (now, before) = (ContinuousClock.now, aside[root.name])
            let since = before?.since ?? now
            let entry = Aside(root: root.name, path: root.path, reason: reason, since: since, needed: now)
            aside[root.name] = entry
            return (entry, before == nil)
        }
        if isNew { signal.send() }
        return (entry, isNew)
    }

    /// Tries to write to the roots that are set aside, and forgets those that no job needs any more. Returns those that
    /// can be written to. Blocks.
    func look(in roots: StorageRoots) -> [String] {
        let now = ContinuousClock.now
        var back: [String] = []
        for aside in all {
            // A root that is set aside as a whole is not tried.
            let isWritable = roots[aside.root].map { $0.denialOfWriting == nil } ?? false
            // A waiting job comes back within the longest pause. Jobs in subfolders that can be written to now are not
            // denied again.
            guard isWritable || now - aside.needed > longestPause * 2 else { continue }
            _ = self.aside.withLock { $0.removeValue(forKey: aside.root) }
            if isWritable { back.append(aside.root) }
        }
        return back
    }
}

extension WriteKeeper.Aside {
    /// `root out at /srv/out: permission_denied: permission denied`
    var words: String { "root \(root) at \(path): \(reason)" }
}
