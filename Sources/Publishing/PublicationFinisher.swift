import Conversion
package import Ledger
public import Storage

/// Carries out the ledger's publish orders: gives outputs their names, then reports that to the ledger.
///
/// Safe to repeat after a crash at any point. Workers use it for their own jobs; workers and coordinators use it
/// for jobs whose worker left them unfinished.
public struct PublicationFinisher: Sendable {
    private let ledger: JobLedger
    private let files: FileCalls

    /// `files` gives up the orders of roots that do not answer. They are postponed then, and may still be carried out:
    /// that harms no more than a process that was stopped in the middle of one.
    package init(_ ledger: JobLedger, files: FileCalls) { (self.ledger, self.files) = (ledger, files) }

    /// Carries out each order as far as possible, and returns the results in the same order. Throws the ledger's
    /// errors; the ledger then hands out the remaining orders again.
    public func carryOut(
        _ due: [DuePublication],
        in roots: StorageRoots,
        within limit: Duration? = nil
    ) async throws -> [PublicationEnding] {
        let named = await name(due, in: roots)
        var endings: [PublicationEnding] = named.map { step in
            switch step {
            case .named(let outcomes): .finished(outcomes.together)
            case .spoiled(let failure): .failed(failure)
            case .kept(let failure): .postponed(failure)
            }
        }
        try await report(zip(due, named).map { ($0.fence, $1) }, &endings, within: limit)
        return endings
    }

    /// Takes orders that others left unfinished for too long, in the roots that this process may write to, and
    /// carries them out. Leaves the rest to processes that have the other roots.
    public func takeUnfinished(in roots: StorageRoots, limit: Int32 = 100) async throws -> [TakenPublication] {
        let rows = try await ledger.takeUnfinished(limit: limit, in: roots.writableNames)
        var (due, unreadable): ([(UnfinishedPublication, DuePublication)], [TakenPublication]) = ([], [])
        for row in rows {
            do throws(StorageError) {
                let publication = try DuePublication(row)
                // A process that has all roots carries the orders out.
                if publication.orders.contains(where: { lacks($0, roots) }) { continue }
                due.append((row, publication))
            } catch {
                unreadable.append(TakenPublication(row: row, ending: .postponed(error.failure)))
            }
        }
        let endings = try await carryOut(due.map(\.1), in: roots)
        return zip(due, endings).map { TakenPublication(row: $0.0, ending: $1) } + unreadable
    }

    /// Whether this process lacks the root of an order's file.
    private func lacks(_ order: PublishOrder?, _ roots: StorageRoots) -> Bool {
        guard let order else { return false }
        // `try?`: the only error is that there is no such root.
        return (try? roots.root(of: order.location)) == nil
    }

    // MARK: - Steps

    /// How far the publication of a job's files got.
    private enum Step: Sendable {
        /// With the outcome for each output.
        case named([PublishOutcome])
        /// The order failed for good, and the files of the attempt are removed.
        case spoiled(Failure)
        case kept(Failure)
    }

    /// Carries out the orders of each set of roots by itself, so that a root that does not answer holds up no other.
    private func name(_ due: [DuePublication], in roots: StorageRoots) async -> [Step] {
        let groups = Dictionary(grouping: due.indices) { due[$0].roots }
        if groups.count == 1, let touched = groups.keys.first { return await name(due, touching: touched, in: roots) }
        return await withTaskGroup(of: ([Int], [Step]).self) { tasks in
            for (touched, places) in groups {
                tasks.addTask { (places, await name(places.map { due[$0] }, touching: touched, in: roots)) }
            }
            var steps: [Int: Step] = [:]
            for await (places, done) in tasks { for (place, step) in zip(places, done) { steps[place] = step } }
            return due.indices.compactMap { steps[$0] }
        }
    }

    private func name(
        _ due: [DuePublication],
        touching touched: Set<String>,
        in roots: StorageRoots
    ) async -> [Step] {
        if let steps = await files.run(in: touched, { Self.name(due, in: roots) }) { return steps }
        let root = files.silent(of: touched)
        let detail = root.map { "the file system of the root \($0) does not answer" } ?? "this process is being stopped"
        let error = StorageError(.storageUnavailable, at: .publish, "publish", detail, place: root)
        return due.map { _ in .kept(error.failure) }
    }

    private static func name(_ due: [DuePublication], in roots: StorageRoots) -> [Step] {
        let results = roots.publish(due.map { $0.orders.compactMap(\.self) })
        return zip(due, results).map { publication, result in
            switch result {
            case .success(let outcomes):
                var outcomes = outcomes.makeIterator()
                return .named(publication.orders.map { $0.flatMap { _ in outcomes.next() } ?? .skipped })
            case .failure(let error): return spoil(publication.orders.compactMap(\.self), error, in: roots)
            }
        }
    }

    /// Decides what follows from a failed rename. A job may leave `publishing` as failed only after its files have
    /// been removed. Otherwise a slower process could still publish them beside the next attempt's.
    private static func spoil(_ orders: [PublishOrder], _ error: StorageError, in roots: StorageRoots) -> Step {
        guard isFinal(error) else { return .kept(error.failure) }
        do throws(StorageError) {
            for order in orders { try roots.discard(order.attempt, of: order.location) }
            return .spoiled(error.failure)
        } catch {
            return .kept(error.failure)
        }
    }

    /// Whether no retry of the same order can succeed.
    private static func isFinal(_ error: StorageError) -> Bool {
        switch error.code {
        // The file is gone, or is not the one ordered; only another attempt at the job helps.
        case .attemptLost, .attemptConflict: true
        // The file is intact, and an operator may restore the permission.
        case .permissionDenied, .readOnly: false
        default: error.code.kind == .permanent
        }
    }

    private func report(
        _ named: [(fence: Fence, step: Step)],
        _ endings: inout [PublicationEnding],
        within limit: Duration?
    ) async throws {
        let finished = named.indices.compactMap { index -> (index: Int, job: FinishedJob)? in
            guard case .named(let outcomes) = named[index].step else { return nil }
            let job = FinishedJob(named[index].fence, Placement(outcomes.together), each: outcomes.map(Placement.init))
            return (index, job)
        }
        if !finished.isEmpty {
            let answers = try await each(finished.map(\.job)) { try await ledger.finish($0, within: limit) }
            for ((index, _), answer) in zip(finished, answers) {
                switch answer {
                case .success(let answer): if !answer.stands { endings[index] = .overtaken }
                case .failure(let error): endings[index] = .postponed(error.failure)
                }
            }
        }
        var failures: [(index: Int, report: AttemptFailure)] = []
        for index in endings.indices {
            guard case .failed(let failure) = endings[index] else { continue }
            failures.append((index, AttemptFailure(named[index].fence, failure)))
        }
        guard !failures.isEmpty else { return }
        let answers = try await each(failures.map(\.report)) { try await ledger.fail($0, within: limit) }
        // If the ledger rejected a report, its ending stays `.failed`.
        for (failure, answer) in zip(failures, answers) where (try? answer.get()) == .lost {
            endings[failure.index] = .overtaken
        }
    }

    /// Reports a group to the ledger and returns its answers. If the ledger rejects the group, reports each member
    /// separately, so that one invalid member does not hold up the others.
    private func each<Word: Sendable>(
        _ words: [Word],
        _ say: ([Word]) async throws -> [JobAnswer]
    ) async throws -> [Result<JobAnswer, LedgerError>] {
        do {
            return try await say(words).map { .success($0) }
        } catch let error as LedgerError where words.count > 1 && error.isRefusal {
            var answers: [Result<JobAnswer, LedgerError>] = []
            for word in words {
                do {
                    answers += try await say([word]).map { .success($0) }
                } catch let error as LedgerError where error.isRefusal {
                    answers.append(.failure(error))
                }
            }
            return answers
        }
    }
}

extension LedgerError {
    /// Whether the ledger rejected the request, rather than being unavailable.
    fileprivate var isRefusal: Bool { !isTransient && code != .cancelled }
}

extension [PublishOutcome] {
    /// The outcome of a job: its outputs are left alone only if all are. A scan, which has none, is complete.
    var together: PublishOutcome {
        isEmpty || contains(.published) ? .published : contains(.adopted) ? .adopted : .skipped
    }
}

extension Placement {
    /// The ledger's name for the outcome.
    fileprivate init(_ outcome: PublishOutcome) {
        switch outcome {
        case .published: self = .published
        case .adopted: self = .adopted
        case .skipped: self = .skipped
        }
    }
}
