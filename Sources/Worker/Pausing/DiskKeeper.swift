import Ledger
import Storage
import Synchronization
import System

/// Tracks full file systems below the worker's roots. The worker puts off jobs that write to them, without spending
/// an attempt, and uses the rest of the root.
final class DiskKeeper: Sendable {
    /// A file system that the worker does not write to for now.
    struct Aside: Sendable, Hashable {
        var facts: FileSystemFacts
        let since: ContinuousClock.Instant
        /// Checks that found no change.
        var looks: Int
        /// When to check next.
        var due: ContinuousClock.Instant
    }

    private struct State {
        var aside: [UInt64: Aside] = [:]
        /// Jobs that ran out of space although the file system was not full when that was checked.
        var doubted: Set<Int64> = []
        /// Those of them that did so again, since an output was last published there.
        var short: [UInt64: Set<Int64>] = [:]
        /// When a file system last came back, and after how many checks.
        var returned: [UInt64: (at: ContinuousClock.Instant, looks: Int)] = [:]
        /// When a file system was last seen full.
        var seenFull: [UInt64: ContinuousClock.Instant] = [:]
    }

    private let state = Mutex(State())
    private let firstPause: Duration
    private let longestPause: Duration
    /// Signalled when a file system is set aside.
    let signal = WakeSignal()

    init(_ configuration: WorkerConfiguration) {
        (firstPause, longestPause) = (configuration.firstPause, configuration.longestPause)
    }

    /// All file systems that are set aside, ordered by mount point.
    var all: [Aside] { state.withLock { $0.aside.values.sorted { $0.facts.mountPoint < $1.facts.mountPoint } } }

    /// Whether the file system of a job's destination needs a check.
    var isAnythingAside: Bool { state.withLock { !$0.aside.isEmpty } }
    var isAnythingShort: Bool { state.withLock { !$0.short.isEmpty } }

    // MARK: - Setting aside

    /// What it means that a job ran out of space.
    enum Shortage: Sendable {
        /// The file system has too little space for the usual outputs.
        case ofFileSystem
        /// The file system has space now. It may have been full when the job wrote, so the job is put off.
        case over
        /// The job needs more space than there is, while others still fit.
        case ofJob
    }

    /// The most jobs to remember in `doubted`. A job that was forgotten is put off once more.
    private static let mostDoubted = 10_000

    /// Records that `job` ran out of space on a file system, of which `facts` were read afterwards.
    ///
    /// A job may fail only if it runs out of space again, and alone. Two such jobs in a row show that the file system
    /// has too little space for the usual outputs.
    func shortage(_ facts: FileSystemFacts, of job: Int64) -> Shortage {
        state.withLock { state in
            if facts.isFull {
                state.seenFull[facts.device] = .now
                return .ofFileSystem
            }
            if state.aside[facts.device] != nil { return .ofFileSystem }
            let last = [state.seenFull[facts.device], state.returned[facts.device]?.at].compactMap(\.self).max()
            if let last, .now - last < longestPause { return .ofFileSystem }
            if state.doubted.count >= Self.mostDoubted { state.doubted = [] }
            if state.doubted.insert(job).inserted { return .over }
            state.short[facts.device, default: []].insert(job)
            return state.short[facts.device, default: []].count > 1 ? .ofFileSystem : .ofJob
        }
    }

    /// Sets a file system aside. Returns false if it already was.
    func setAside(_ facts: FileSystemFacts) -> Bool {
        let isNew = state.withLock { state in
            let now = ContinuousClock.now
            guard state.aside[facts.device] == nil else {
                state.aside[facts.device]?.facts = facts
                return false
            }
            // A file system that keeps filling up is checked less and less often.
            let looks = state.returned[facts.device].map { now - $0.at < longestPause ? $0.looks + 1 : 0 } ?? 0
            state.aside[facts.device] = Aside(facts: facts, since: now, looks: looks, due: now + pause(after: looks))
            state.short[facts.device] = nil
            return true
        }
        if isNew { signal.send() }
        return isNew
    }

    /// Records that an output was published, so the file system has some space.
    func noteSpace(on device: UInt64) { state.withLock { _ = $0.short.removeValue(forKey: device) } }

    /// The entry for `device`; `nil` if that file system is not set aside.
    func aside(_ device: UInt64) -> Aside? { state.withLock { $0.aside[device] } }

    private func pause(after looks: Int) -> Duration { min(longestPause, firstPause * (1 << min(looks, 16))) }

    // MARK: - Checking again

    /// When to check next; `nil` if nothing is set aside.
    var due: ContinuousClock.Instant? { state.withLock { $0.aside.values.map(\.due).min() } }

    /// Checks the file systems that are due, and returns those that have space again. Blocks.
    func look() -> [FileSystemFacts] {
        let now = ContinuousClock.now
        let due = state.withLock { $0.aside.values.filter { $0.due <= now } }
        var back: [FileSystemFacts] = []
        for aside in due {
            let facts = FileSystemFacts(path: aside.facts.mountPoint)
            state.withLock { state in
                // If it was unmounted, it is no longer full; jobs that need it report what they find.
                guard let facts, facts.device == aside.facts.device, facts.isFull else {
                    state.returned[aside.facts.device] = (.now, aside.looks)
                    state.aside[aside.facts.device] = nil
                    back.append(facts ?? aside.facts)
                    return
                }
                var aside = aside
                aside.facts = facts
                aside.looks += 1
                // A check costs one system call, and people who have freed space wait for it.
                aside.due = .now + min(pause(after: aside.looks), max(firstPause, .seconds(15)))
                state.aside[facts.device] = aside
            }
        }
        return back
    }
}
