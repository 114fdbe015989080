import Glibc
import System

/// Finished outputs of several jobs, made durable together and then linked under the names of their attempts.
///
/// This is step 2 of publishing and the worker's step after it (docs/storage.md). A linked file outlives this process,
/// and any process can publish it from the ledger's row. A group that is dropped before `link` leaves no files.
public struct OutputGroup: ~Copyable {
    private struct Member {
        /// The place of its job in the order of adding.
        let place: Int
        let file: UnfinishedFile
        let attempt: AttemptName
        let fingerprint: Fingerprint
        let mark: OutputMark?
    }

    private var members: [Member] = []
    /// The number of jobs.
    public private(set) var count = 0

    public init() {}

    /// Adds a job's only output. `fingerprint` must be that output's, from `OutputFile.fingerprint()`.
    ///
    /// `work` is a number for recipe and source; by it the job recognises its own output (`StorageRoot.owner`).
    /// Without `work` the file gets no mark.
    public mutating func add(
        _ output: consuming OutputFile,
        as attempt: AttemptName,
        with fingerprint: Fingerprint,
        madeOf work: UInt64? = nil
    ) {
        var set = OutputSet()
        set.add(output)
        add(set, as: attempt, with: [fingerprint], madeOf: work)
    }

    /// Adds the outputs of a job, each with its fingerprint, in the order in which the set has them.
    public mutating func add(
        _ outputs: consuming OutputSet,
        as attempt: AttemptName,
        with fingerprints: [Fingerprint],
        madeOf work: UInt64? = nil
    ) {
        for (file, fingerprint) in zip(outputs.files, fingerprints) {
            let mark = work.map {
                OutputMark(ledger: attempt.ledger, job: attempt.job, work: $0, fingerprint: fingerprint)
            }
            members.append(
                Member(place: count, file: file, attempt: attempt, fingerprint: fingerprint, mark: mark)
            )
        }
        count += 1
    }

    /// Flushes every output and links it under the name of its attempt. Returns a result for each job, in the order
    /// of adding.
    ///
    /// A job of which an output fails leaves no file, and does not stop the others. `durably` as for
    /// `OutputFile.publish(durably:)`.
    public consuming func link(durably: Bool = true) -> [Result<Void, StorageError>] {
        link(durably: durably, together: nil)
    }

    /// The same; `together` forces or forbids the common flush, instead of choosing the cheaper way.
    package consuming func link(durably: Bool, together: Bool?) -> [Result<Void, StorageError>] {
        // Marks come before the flush, which makes them durable with the contents.
        for member in members { member.mark?.write(to: member.file.descriptor) }
        let flushed = Self.flush(members, durably: durably, together: together)
        var linked = zip(members, flushed).map { member, flushed in
            flushed.flatMap {
                Result { () throws(StorageError) in
                    try member.file.take(member.attempt, member.fingerprint)
                }
            }
        }
        if durably { Self.flushNames(of: members, &linked) }
        var results = [Result<Void, StorageError>](repeating: .success(()), count: count)
        for (member, linked) in zip(members, linked) {
            if case (.failure, .success) = (linked, results[member.place]) { results[member.place] = linked }
        }
        for (member, linked) in zip(members, linked) {
            if case (.success, .failure) = (linked, results[member.place]) { member.file.forget(member.attempt) }
        }
        return results
    }

    /// Flushes each folder once so that the names survive a power cut too: the ledger is about to rely on them.
    private static func flushNames(of members: [Member], _ linked: inout [Result<Void, StorageError>]) {
        let named = members.indices.filter { if case .success = linked[$0] { true } else { false } }
        // A folder of unknown identity is flushed for each file.
        let folders = Dictionary(grouping: named) { index in
            members[index].file.folder.facts?.identity ?? FileIdentity(device: .max, inode: UInt64(index))
        }
        for indices in folders.values {
            do throws(StorageError) {
                try members[indices[0]].file.folder.flush(with: members[indices[0]].file.descriptor)
            } catch {
                for index in indices {
                    linked[index] = .failure(error)
                    members[index].file.forget(members[index].attempt)
                }
            }
        }
    }

    /// Flushes the contents: file by file, or the whole file system at once where that is cheaper.
    private static func flush(
        _ members: [Member],
        durably: Bool,
        together: Bool?
    ) -> [Result<Void, StorageError>] {
        let wanted = members.map { durably || !$0.file.folder.isLocal }
        var flushed: [Result<Void, StorageError>?] = wanted.map { $0 ? nil : .success(()) }
        // Only for local file systems: syncfs does not make a server flush.
        let local = members.indices.filter { wanted[$0] && members[$0].file.folder.isLocal }
        // A new file is on the file system of its folder.
        let devices = Dictionary(grouping: local) { members[$0].file.folder.facts?.identity.device }
        for (device, indices) in devices where device != nil && together ?? (indices.count >= cheaperTogether) {
            // After a failure each file is flushed by itself, which shows whose bytes were lost.
            guard SystemCall.flushFileSystem(of: members[indices[0]].file.descriptor) == 0 else { continue }
            for index in indices { flushed[index] = members[index].file.lossAfterSyncfs() }
        }
        return members.indices.map { index in
            flushed[index] ?? Result { () throws(StorageError) in try members[index].file.flush() }
        }
    }

    /// From this many files on, one syncfs is faster than an fsync for each.
    private static let cheaperTogether = 4
}
