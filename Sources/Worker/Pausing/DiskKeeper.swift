import Ledger
import Storage
import Synchronization

/// File systems below the worker's roots that are full. Jobs to them are put off, unspent, and the rest of the root goes on.
final class DiskKeeper: Sendable {
    /// A file system to which nothing is written for now.
    struct Aside: Sendable, Hashable {
        var facts: FileSystemFacts
        let since: ContinuousClock.Instant
        /// Looks that found no change.
        var looks: Int
        /// When to look next.
        var due: ContinuousClock.Instant
    }

    private struct State {
        var aside: [UInt64: Aside] = [:]
        /// Jobs for which there was too little room although the file system was not full, since one was published there.
        var short: [UInt64: Set<Int64>] = [:]
        /// When a file system last came back, and after how many looks.
        var returned: [UInt64: (at: ContinuousClock.Instant, looks: Int)] = [:]
        /// When a file system was last seen full.
        var seenFull: [UInt64: ContinuousClock.Instant] = [:]
    }

    private let state = Mutex(State())
    private let firstPause: Duration
    private let longestPause: Duration
    /// Rung when a file system is set aside.
    let bell = Bell()

    init(_ configuration: WorkerConfiguration) {
        (firstPause, longestPause) = (configuration.firstPause, configuration.longestPause)
    }

    /// What is set aside, in the order of mount points.
    var all: [Aside] { state.withLock { $0.aside.values.sorted { $0.facts.mountPoint < $1.facts.mountPoint } } }

    /// Whether a look at the file system of a job's destination can tell anything.
    var isAnythingAside: Bool { state.withLock { !$0.aside.isEmpty } }
    var isAnythingShort: Bool { state.withLock { !$0.short.isEmpty } }

    // MARK: - Going

    /// What `job`, for whose output there was no room on a file system, says of that: `true` if jobs are to be put off.
    ///
    /// A job that wants more than there is, where others still find room, is alone with that. Two of them in a row are not: the
    /// file system has too little room for what is made here. Nor is a job alone whose file system was seen full a moment ago: an
    /// operator may have made room before the worker looked.
    func lacksRoom(_ facts: FileSystemFacts, for job: Int64) -> Bool {
        state.withLock { state in
            if facts.isFull {
                state.seenFull[facts.device] = .now
                return true
            }
            if state.aside[facts.device] != nil { return true }
            let last = [state.seenFull[facts.device], state.returned[facts.device]?.at].compactMap(\.self).max()
            if let last, .now - last < longestPause { return true }
            state.short[facts.device, default: []].insert(job)
            return state.short[facts.device, default: []].count > 1
        }
    }

    /// Sets a file system aside; `false` if that was done before.
    func setAside(_ facts: FileSystemFacts) -> Bool {
        let isNew = state.withLock { state in
            let now = ContinuousClock.now
            guard state.aside[facts.device] == nil else {
                state.aside[facts.device]?.facts = facts
                return false
            }
            // One that comes and goes is looked at less and less often.
            let looks = state.returned[facts.device].map { now - $0.at < longestPause ? $0.looks + 1 : 0 } ?? 0
            state.aside[facts.device] = Aside(facts: facts, since: now, looks: looks, due: now + pause(after: looks))
            state.short[facts.device] = nil
            return true
        }
        if isNew { bell.ring() }
        return isNew
    }

    /// An output was published on a file system, so there is room for some.
    func noteRoom(on device: UInt64) { state.withLock { _ = $0.short.removeValue(forKey: device) } }

    /// The file system that jobs to `device` wait for.
    func aside(_ device: UInt64) -> Aside? { state.withLock { $0.aside[device] } }

    private func pause(after looks: Int) -> Duration { min(longestPause, firstPause * (1 << min(looks, 16))) }

    // MARK: - Coming back

    /// When to look next; `nil` while nothing is set aside.
    var due: ContinuousClock.Instant? { state.withLock { $0.aside.values.map(\.due).min() } }

    /// Looks at the file systems whose time has come, and answers those that have room again. Blocks.
    func look() -> [FileSystemFacts] {
        let now = ContinuousClock.now
        let due = state.withLock { $0.aside.values.filter { $0.due <= now } }
        var back: [FileSystemFacts] = []
        for aside in due {
            let facts = FileSystemFacts(path: aside.facts.mountPoint)
            state.withLock { state in
                // One that was unmounted is full no more; what its jobs find then is theirs to say.
                guard let facts, facts.device == aside.facts.device, facts.isFull else {
                    state.returned[aside.facts.device] = (.now, aside.looks)
                    state.aside[aside.facts.device] = nil
                    back.append(facts ?? aside.facts)
                    return
                }
                var aside = aside
                aside.facts = facts
                aside.looks += 1
                // A look costs one call, and people who have made room wait for it.
                aside.due = .now + min(pause(after: aside.looks), max(firstPause, .seconds(15)))
                state.aside[facts.device] = aside
            }
        }
        return back
    }
}
