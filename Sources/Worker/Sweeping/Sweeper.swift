import Conversion
import Ledger
import Publishing
import Storage
import Synchronization

/// Removes what dead workers left in the folders that this one writes to.
final class Sweeper: Sendable {
    private struct Folder: Sendable, Hashable {
        let root: String
        let path: String
    }

    private struct Visit: Sendable {
        /// Any place in the folder.
        let place: Location
        /// Whose files are ours to judge.
        var ledger: UInt32
        var due: ContinuousClock.Instant?
        var last: ContinuousClock.Instant?
    }

    private let visits = Mutex<[Folder: Visit]>([:])
    private let queue = BlockingQueue("sweeping")
    private let age: Duration
    private let interval: Duration
    /// As many folders are remembered; an archive may have more.
    private static let memory = 10_000

    init(age: Duration, interval: Duration) { (self.age, self.interval) = (age, interval) }

    /// The output of an attempt goes to `place`. Where it is not the first, an earlier one may have left a file there.
    func use(_ place: Location, for fence: Fence) {
        let (now, ledger) = (ContinuousClock.now, AttemptName(fence).ledger)
        visits.withLock { visits in
            let folder = Folder(root: place.root, path: place.folder)
            if visits.count >= Self.memory, visits[folder] == nil { visits = visits.filter { $0.value.due != nil } }
            guard visits.count < Self.memory || visits[folder] != nil else { return }
            var visit = visits[folder] ?? Visit(place: place, ledger: ledger)
            // A ledger may be made anew under a worker that goes on.
            visit.ledger = ledger
            let isTime = visit.last.map { now - $0 >= interval } ?? true
            if isTime {
                visit.due = visit.due ?? now
            } else if fence.epoch > 1 {
                // What it left may still be too young; it is not by then.
                visit.due = visit.due ?? now + age
            }
            visits[folder] = visit
        }
    }

    /// Sweeps what is due; how many files went, by folder.
    func sweepDue(in roots: StorageRoots, _ ledger: JobLedger) async throws -> [String: Int] {
        let now = ContinuousClock.now
        let due = visits.withLock { visits in visits.values.filter { $0.due.map { $0 <= now } ?? false } }
        var removed: [String: Int] = [:]
        for visit in due where !Task.isCancelled {
            let folder = Folder(root: visit.place.root, path: visit.place.folder)
            visits.withLock { visits in
                visits[folder]?.due = nil
                visits[folder]?.last = now
            }
            let count = try await sweep(visit, in: roots, ledger)
            if count > 0 { removed["\(folder.root):\(folder.path)"] = count }
        }
        return removed
    }

    /// Lists first and asks the ledger then: a file that comes in between is not on the list, and one that is on it and whose
    /// fence does not stand will never be wanted. Of other ledgers' files we know nothing, and leave them.
    private func sweep(_ visit: Visit, in roots: StorageRoots, _ ledger: JobLedger) async throws -> Int {
        let (age, place, mark) = (age, visit.place, visit.ledger)
        let listed = try await queue.run { () -> Result<[AttemptName], StorageError> in
            Result { () throws(StorageError) in
                var names: [AttemptName] = []
                _ = try roots.root(of: place).sweep(folder: place.folder, olderThan: age) { name in
                    if name.ledger == mark { names.append(name) }
                    return true
                }
                return names
            }
        }.get()
        guard !listed.isEmpty else { return 0 }
        let fences = Dictionary(listed.compactMap { name in Fence(name).map { ($0, name) } }) { first, _ in first }
        let standing = try await ledger.standing(Array(fences.keys))
        let litter = Set(fences.filter { !standing.contains($0.key) }.values)
        return try await queue.run { () -> Result<Int, StorageError> in
            Result { () throws(StorageError) in
                try roots.root(of: place).sweep(folder: place.folder, olderThan: age) { !litter.contains($0) }
                    .count { AttemptName(fileName: $0) != nil }
            }
        }.get()
    }
}
