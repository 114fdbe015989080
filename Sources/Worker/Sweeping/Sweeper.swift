import Conversion
import FoundationEssentials
import Ledger
import Publishing
import Storage
import Synchronization
import System

/// Removes files that dead workers left in the folders that this worker writes to.
final class Sweeper: Sendable {
    private struct Folder: Sendable, Hashable {
        let root: String
        let path: String
    }

    private struct Visit: Sendable {
        /// Any location in the folder.
        let place: Location
        /// The number of the ledger whose files may be removed.
        var ledger: UInt32
        var due: ContinuousClock.Instant?
        var last: ContinuousClock.Instant?
    }

    /// Given when a folder is due that was not before.
    let signal = WakeSignal()
    private let visits = Mutex<[Folder: Visit]>([:])
    private let files: FileCalls
    private let age: Duration
    private let interval: Duration
    /// The most folders to remember; an archive may have more.
    private static let memory = 10_000

    init(age: Duration, interval: Duration, files: FileCalls) {
        (self.age, self.interval, self.files) = (age, interval, files)
    }

    /// Notes that an attempt writes its output to `place`, whose folder may hold files of earlier attempts.
    func use(_ place: Location, for fence: Fence) {
        let (now, ledger) = (ContinuousClock.now, AttemptName(fence).ledger)
        let isNews = visits.withLock { visits in
            let folder = Folder(root: place.root, path: place.folder)
            if visits.count >= Self.memory, visits[folder] == nil { visits = visits.filter { $0.value.due != nil } }
            guard visits.count < Self.memory || visits[folder] != nil else { return false }
            var visit = visits[folder] ?? Visit(place: place, ledger: ledger)
            // The ledger may have been replaced while the worker runs.
            visit.ledger = ledger
            let before = visit.due
            let isTime = visit.last.map { now - $0 >= interval } ?? true
            if isTime {
                visit.due = visit.due ?? now
            } else if fence.epoch > 1 {
                // Files of the earlier attempt may still be too young; after `age` they are not.
                visit.due = visit.due ?? now + age
            }
            visits[folder] = visit
            return visit.due != before
        }
        if isNews { signal.send() }
    }

    /// When the first folder is due; `nil` if none is.
    var due: ContinuousClock.Instant? { visits.withLock { $0.values.lazy.compactMap(\.due).min() } }

    /// Sweeps the folders that are due, except those in roots that do not answer. Returns the number of removed files for each folder.
    func sweepDue(in roots: StorageRoots, _ ledger: JobLedger) async throws -> [String: Int] {
        let now = ContinuousClock.now
        let due = visits.withLock { visits in visits.values.filter { $0.due.map { $0 <= now } ?? false } }
        var removed: [String: Int] = [:]
        for visit in due where !Task.isCancelled && files.silent(of: [visit.place.root]) == nil {
            let folder = Folder(root: visit.place.root, path: visit.place.folder)
            visits.withLock { visits in
                visits[folder]?.due = nil
                visits[folder]?.last = now
            }
            guard let count = try await sweep(visit, in: roots, ledger) else {
                visits.withLock { $0[folder]?.due = now }
                continue
            }
            if count > 0 { removed["\(folder.root):\(folder.path)"] = count }
        }
        return removed
    }

    /// Lists the files first and asks the ledger afterwards. A file created in between is not on the list, and a
    /// listed file whose fence is no longer valid will never be used. Files of other ledgers are left alone, because
    /// this ledger knows nothing about them. `nil` if the root does not answer.
    private func sweep(_ visit: Visit, in roots: StorageRoots, _ ledger: JobLedger) async throws -> Int? {
        let (age, place, mark) = (age, visit.place, visit.ledger)
        let listed = try await files.run(in: [place.root]) { () -> Result<[AttemptName], StorageError> in
            Result { () throws(StorageError) in
                var names: [AttemptName] = []
                _ = try roots.root(of: place).sweep(folder: place.folder, olderThan: age) { name in
                    if name.ledger == mark { names.append(name) }
                    return true
                }
                return names
            }
        }?.get()
        guard let listed else { return nil }
        guard !listed.isEmpty else { return 0 }
        let fences = Dictionary(listed.compactMap { name in Fence(name).map { ($0, name) } }) { first, _ in first }
        let standing = try await ledger.standing(Array(fences.keys))
        let litter = Set(fences.filter { !standing.contains($0.key) }.values)
        return try await files.run(in: [place.root]) { () -> Result<Int, StorageError> in
            Result { () throws(StorageError) in
                try roots.root(of: place).sweep(folder: place.folder, olderThan: age) { !litter.contains($0) }
                    .count { AttemptName(fileName: $0) != nil }
            }
        }?.get()
    }
}

extension Fence {
    /// The fence that is part of an attempt's file name; `nil` if no ledger can have issued it.
    init?(_ name: AttemptName) {
        guard let epoch = Int32(exactly: name.epoch) else { return nil }
        var bytes = UUID().uuid
        withUnsafeMutableBytes(of: &bytes) { raw in
            for place in raw.indices { raw[place] = UInt8(truncatingIfNeeded: name.lease >> (8 * (15 - place))) }
        }
        self.init(job: name.job, epoch: epoch, lease: UUID(uuid: bytes))
    }
}
