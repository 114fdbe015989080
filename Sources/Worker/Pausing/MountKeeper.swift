import Conversion
import Ledger
import Storage
import Synchronization
import System

/// Tracks unmounted file systems below the worker's roots. The worker puts off jobs whose files lie there, without
/// spending an attempt, and uses the rest of the root.
final class MountKeeper: Sendable {
    /// A lost mount that jobs wait for.
    struct Aside: Sendable, Hashable {
        let lost: MountWatch.Lost
        let since: ContinuousClock.Instant
        /// When a job last needed the mount.
        var needed: ContinuousClock.Instant
    }

    /// A mount point that has a file system again.
    struct Back: Sendable, Hashable {
        let mountPoint: String
        /// The name of what is mounted there now, if it differs from before.
        let note: String?
    }

    let watch = MountWatch()
    private let aside = Mutex<[String: Aside]>([:])
    private let longestPause: Duration
    /// Signalled when a mount is set aside.
    let signal = WakeSignal()

    /// How often the worker looks at the mount table while jobs wait.
    static let interval = Duration.seconds(1)

    init(_ configuration: WorkerConfiguration) { longestPause = configuration.longestPause }

    /// All lost mounts that jobs wait for, ordered by mount point.
    var all: [Aside] { aside.withLock { $0.values.sorted { $0.lost.mountPoint < $1.lost.mountPoint } } }

    /// The lost mount that a job needs; `nil` if there is none. Blocks.
    func lost(for job: Claim, in roots: StorageRoots) -> MountWatch.Lost? {
        watch.refresh()
        return knownLost(for: job, in: roots)
    }

    /// The same by what is known since the last look at the mount table. Blocks.
    func knownLost(for job: Claim, in roots: StorageRoots) -> MountWatch.Lost? {
        guard watch.hasLost else { return nil }
        let places = job.recipe.sources.map(\.location) + job.recipe.outputs.map(\.location)
        for place in places {
            // A location that is invalid fails when the job opens it.
            guard let location = try? Location(place), let root = try? roots.root(of: location) else { continue }
            if let lost = watch.lost(under: location, of: root) { return lost }
        }
        return nil
    }

    /// Sets aside a mount that a job needs. Returns false if it already was.
    func setAside(_ lost: MountWatch.Lost) -> Bool {
        let isNew = aside.withLock { aside in
            let now = ContinuousClock.now
            let before = aside[lost.mountPoint]
            aside[lost.mountPoint] = Aside(lost: lost, since: before?.since ?? now, needed: now)
            return before == nil
        }
        if isNew { signal.send() }
        return isNew
    }

    /// Since when jobs wait for the mount; `nil` if none do.
    func since(_ lost: MountWatch.Lost) -> ContinuousClock.Instant? { aside.withLock { $0[lost.mountPoint]?.since } }

    /// Reads the mount table, and forgets mounts that no job needs any more. Returns those that are back. Blocks.
    func look() -> [Back] {
        let now = ContinuousClock.now
        var back: [Back] = []
        for aside in all {
            let name = watch.mounted(at: aside.lost)
            // A waiting job comes back within the longest pause, so a mount unused for twice that time is not needed.
            guard name != nil || now - aside.needed > longestPause * 2 else { continue }
            _ = self.aside.withLock { $0.removeValue(forKey: aside.lost.mountPoint) }
            guard let name else { continue }
            back.append(Back(mountPoint: aside.lost.mountPoint, note: name == aside.lost.name ? nil : name))
        }
        return back
    }
}
