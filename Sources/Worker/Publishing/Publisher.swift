import Conversion
import Ledger
import Publishing
import Storage
import System

/// Publishes outputs and reports results to the ledger. A group is everything that is ready
/// when the last group is done.
struct Publisher: Sendable {
    let shop: Workshop
    private let files = BlockingQueue("linking")

    init(_ shop: Workshop) { self.shop = shop }

    /// Why jobs are handed back. One call to the ledger covers all jobs with the same cause.
    private struct Cause: Hashable {
        var reason: FailureCode
        var need: String?
        var hold: Duration?
        var message: String?
    }

    /// Jobs whose outputs could not be linked.
    private struct Unpublished {
        var failures: [AttemptFailure] = []
        var releases: [(JobInHand, Cause)] = []
    }

    /// An output that is being published.
    private struct Output: Sendable {
        let job: JobInHand
        let prepared: PreparedJob
        let fingerprint: Fingerprint
        let facts: AttemptFacts

        var attempt: AttemptName { AttemptName(job.fence) }

        var publication: Publication {
            Publication(
                job.fence,
                attemptName: attempt.fileName(for: prepared.location.name),
                digest: fingerprint.hexDigest,
                bytes: fingerprint.byteCount,
                facts: facts
            )
        }

        var order: PublishOrder {
            let policy = job.claim.recipe.outputs.first?.onConflict ?? .fail
            return PublishOrder(of: attempt, to: prepared.location, with: fingerprint, onConflict: policy)
        }
    }

    /// A job without a file to link: it was skipped, or its output exists already.
    private struct Bare: Sendable {
        let job: JobInHand
        let made: (output: MadeOutput, facts: AttemptFacts)?

        var publication: Publication {
            guard let made else { return SkippedOutput.publication(job.fence) }
            return Publication(
                job.fence,
                attemptName: AttemptName(job.fence).fileName(for: made.output.location.name),
                digest: made.output.fingerprint.hexDigest,
                bytes: made.output.fingerprint.byteCount,
                facts: made.facts
            )
        }

        /// There is no file of this attempt, so the order finds the existing output and adopts it
        /// if its bytes have not changed.
        var due: DuePublication {
            DuePublication(
                job.fence,
                order: made.map { made in
                    PublishOrder(
                        of: AttemptName(job.fence),
                        to: made.output.location,
                        with: made.output.fingerprint,
                        onConflict: job.claim.recipe.outputs.first?.onConflict ?? .fail
                    )
                }
            )
        }
    }

    func run() async {
        while let group = await shop.outbox.take(upTo: shop.configuration.groupLimit) { await carry(group) }
    }

    private func carry(_ group: [JobEnding]) async {
        var outputs: [Output] = []
        var bare: [Bare] = []
        var failures: [AttemptFailure] = []
        var releases: [(JobInHand, Cause)] = []
        for ending in group {
            guard let job = shop.board.job(ending.fence) else { continue }
            guard job.isOurs else {
                if case .output(let prepared, _, _) = ending.kind { prepared.discard() }
                close(job, .lost)
                continue
            }
            switch ending.kind {
            case .output(let prepared, _, let facts) where job.stop == .cancelled:
                prepared.discard()
                failures.append(AttemptFailure(job.fence, .cancelled, facts: facts))
            case .output(let prepared, let fingerprint, let facts):
                outputs.append(Output(job: job, prepared: prepared, fingerprint: fingerprint, facts: facts))
            case .skipped: bare.append(Bare(job: job, made: nil))
            case .made(let output, let facts): bare.append(Bare(job: job, made: (output, facts)))
            case .failed(let failure): failures.append(failure)
            case .handedBack(let reason, let need): releases.append((job, Cause(reason: reason, need: need)))
            case .putOff(let reason, let hold, let message):
                releases.append((job, Cause(reason: reason, hold: hold, message: message)))
            }
        }
        let unpublished = await publish(outputs, bare)
        failures += unpublished.failures
        releases += unpublished.releases
        await fail(failures)
        await release(releases)
    }

    // MARK: - Outputs

    /// Publishes outputs. Returns the jobs to report as failed or to hand back.
    private func publish(_ outputs: [Output], _ bare: [Bare]) async -> Unpublished {
        var (linked, unpublished) = await link(outputs)
        // If the process was suspended before this, the lease may have ended: check the clock
        // before writing to the ledger.
        let begun = shop.board.beginPublishing(linked.map(\.job.fence) + bare.map(\.job.fence))
        let dropped = linked.filter { !begun.contains($0.job.fence) }
        await discard(dropped)
        for output in dropped {
            if shop.board.job(output.job.fence)?.isOurs == true {
                unpublished.failures.append(AttemptFailure(output.job.fence, .cancelled, facts: output.facts))
            } else {
                close(output.job, .lost)
            }
        }
        linked.removeAll { !begun.contains($0.job.fence) }
        let bare = bare.filter { item in
            if begun.contains(item.job.fence) { return true }
            close(item.job, .lost)
            return false
        }
        guard !begun.isEmpty else { return unpublished }
        let publications = linked.map(\.publication) + bare.map(\.publication)
        let answers = await ask(publications)

        var due: [DuePublication] = []
        var refused: [Output] = []
        for (output, answer) in zip(linked, answers) {
            guard let answer else {
                // Keep the file. If the ledger received the publication after all, the process that is
                // given the order carries it out.
                close(output.job, .lost)
                continue
            }
            if answer.stands {
                due.append(DuePublication(output.job.fence, order: output.order))
            } else {
                refused.append(output)
                close(output.job, answer == .cancelled ? .cancelled : .lost)
            }
        }
        for (item, answer) in zip(bare, answers.dropFirst(linked.count)) {
            if answer?.stands == true {
                due.append(item.due)
            } else {
                close(item.job, answer == .cancelled ? .cancelled : .lost)
            }
        }
        await discard(refused)
        await finish(due, linked)
        return unpublished
    }

    /// Discards outputs whose file system was unmounted in the meantime, because no process could
    /// reach them. Returns the others.
    private func keepMounted(_ outputs: [Output], _ unpublished: inout Unpublished) async -> [Output] {
        let (mounts, roots) = (shop.mounts, shop.roots.roots)
        let isMounted = await files.run { outputs.map { $0.prepared.isMounted(mounts.watch) } }
        for (output, isMounted) in zip(outputs, isMounted) where !isMounted {
            output.prepared.discard()
            let lost = await files.run { mounts.lost(for: output.job.claim, in: roots) }
            var cause = Cause(reason: .fileSystemMissing)
            if case .putOff(_, let hold, let message)? = lost.map(shop.putOff) {
                (cause.hold, cause.message) = (hold, message)
            }
            unpublished.releases.append((output.job, cause))
        }
        return zip(outputs, isMounted).filter(\.1).map(\.0)
    }

    /// Makes the outputs durable under their attempts' names.
    private func link(_ outputs: [Output]) async -> (linked: [Output], Unpublished) {
        guard !outputs.isEmpty else { return ([], Unpublished()) }
        var unpublished = Unpublished()
        let outputs = await keepMounted(outputs, &unpublished)
        let results = await files.run { () -> [Result<Void, StorageError>] in
            var group = OutputGroup()
            let isMember = outputs.map {
                $0.prepared.add(to: &group, as: $0.attempt, with: $0.fingerprint)
            }
            var results = group.link().makeIterator()
            return isMember.map { isMember in
                if isMember, let result = results.next() { return result }
                return .failure(StorageError(.attemptLost, at: .publish, "publish", "the output was already discarded"))
            }
        }
        var linked: [Output] = []
        for (output, result) in zip(outputs, results) {
            switch result {
            case .success: linked.append(output)
            case .failure(let error):
                let failure = AttemptFailure(output.job.fence, error.failure, facts: output.facts)
                let roots = [output.prepared.location.root]
                switch await shop.diagnose(failure, output.job.claim, roots, on: files) {
                case .failed(let failure): unpublished.failures.append(failure)
                case .putOff(let reason, let hold, let message):
                    unpublished.releases.append((output.job, Cause(reason: reason, hold: hold, message: message)))
                case .output, .skipped, .made, .handedBack: break
                }
            }
        }
        return (linked, unpublished)
    }

    /// Asks the ledger to publish until it answers. Until then the files stay, because the ledger may rely on them.
    ///
    /// `nil` for publications that the ledger rejects as invalid, and for all if the worker stops before an answer.
    /// A later process finds the files through the ledger's row, or sweeps them.
    private func ask(_ publications: [Publication]) async -> [JobAnswer?] {
        if let answers = await shop.ask({ try await shop.ledger.publish(publications) }) { return answers }
        guard publications.count > 1, !Task.isCancelled else { return publications.map { _ in nil } }
        // Retry one by one, so that an invalid publication does not make the others fail.
        var answers: [JobAnswer?] = []
        for publication in publications { answers += await ask([publication]) }
        return answers
    }

    private func finish(_ due: [DuePublication], _ outputs: [Output]) async {
        guard !due.isEmpty else { return }
        let byFence = Dictionary(outputs.map { ($0.job.fence, $0) }) { first, _ in first }
        let endings = await shop.ask { try await shop.finisher.carryOut(due, in: shop.roots.roots) }
        for (place, publication) in due.enumerated() {
            guard let job = shop.board.job(publication.fence) else { continue }
            var line = AttemptLine(job, .publishing)
            if let output = byFence[publication.fence] {
                (line.frames, line.audio, line.bytes) = (
                    output.facts.framesOut, output.facts.audio, output.fingerprint.byteCount
                )
            }
            switch endings?[place] {
            case .finished(let outcome):
                line.outcome = outcome == .skipped ? .skipped : .completed
                if outcome == .published, shop.disks.isAnythingShort {
                    await noteSpace(for: job.claim)
                }
                if outcome == .adopted { line.reason = PublishOutcome.adopted.rawValue }
            case .overtaken: line.outcome = .completed
            case .failed(let failure): (line.outcome, line.failure) = (.failed, failure)
            case .postponed(let failure): line.failure = failure
            case nil: break
            }
            // Failing to give an output its name may also show a problem of the storage.
            shop.note(job, failure: line.failure)
            close(job, line)
        }
    }

    /// An output found space, so one earlier job that did not says nothing about the file system.
    private func noteSpace(for claim: Claim) async {
        let (keeper, disks) = (shop.roots, shop.disks)
        await files.run {
            if let place = RootDiagnosis.destination(of: claim, in: keeper) { disks.noteSpace(on: place.facts.device) }
        }
    }

    private func discard(_ outputs: [Output]) async {
        guard !outputs.isEmpty else { return }
        let roots = shop.roots.roots
        let problem = await files.run { () -> StorageError? in
            var problem: StorageError?
            for output in outputs {
                do throws(StorageError) {
                    try roots.discard(output.attempt, of: output.prepared.location)
                } catch {
                    problem = error
                }
            }
            return problem
        }
        // The sweeper removes the file later: its fence is no longer valid.
        if let problem { shop.say(.trouble(problem.failure)) }
    }

    // MARK: - Failed and returned jobs

    private func fail(_ failures: [AttemptFailure]) async {
        guard !failures.isEmpty else { return }
        let answers = await shop.ask(while: { stands(failures.map(\.fence)) }) {
            try await shop.ledger.fail(failures)
        }
        if answers == nil, failures.count > 1, stands(failures.map(\.fence)), !Task.isCancelled {
            // Retry one by one, so that an invalid report does not make the others fail.
            for failure in failures { await fail([failure]) }
            return
        }
        for (place, report) in failures.enumerated() {
            guard let job = shop.board.job(report.fence) else { continue }
            var line = AttemptLine(job, .failed)
            line.failure = report.failure
            line.frames = report.facts.framesIn
            switch answers?[place] {
            case .done, .repeated:
                shop.note(job, failure: report.failure)
            case .cancelled: line.outcome = .cancelled
            case .lost, .publishing, nil: line.outcome = .lost
            }
            close(job, line)
        }
    }

    private func release(_ releases: [(JobInHand, Cause)]) async {
        let groups = Dictionary(grouping: releases, by: \.1)
        for (cause, group) in groups {
            let fences = group.map(\.0.fence)
            let answers = await shop.ask(while: { stands(fences) }) {
                try await shop.ledger.release(
                    fences,
                    because: cause.reason,
                    needing: cause.need,
                    after: cause.hold,
                    message: cause.message
                )
            }
            for (place, job) in group.map(\.0).enumerated() {
                var line = AttemptLine(job, .released)
                line.reason = cause.need ?? cause.message ?? cause.reason.rawValue
                if let answer = answers?[place] {
                    if answer == .cancelled { line.outcome = .cancelled }
                    // Its publication was committed after all; the process that takes up
                    // unfinished publications completes it.
                    if answer == .publishing { line.outcome = .publishing }
                } else {
                    line.outcome = .lost
                }
                close(job, line)
            }
        }
    }

    /// Whether the worker still holds any of the jobs, so that a report to the ledger makes sense.
    private func stands(_ fences: [Fence]) -> Bool {
        fences.contains { shop.board.job($0)?.isOurs == true }
    }

    private func close(_ job: JobInHand, _ outcome: AttemptLine.Outcome) { close(job, AttemptLine(job, outcome)) }

    private func close(_ job: JobInHand, _ line: AttemptLine) {
        shop.board.remove([job.fence])
        shop.say(.attempt(line))
    }
}
