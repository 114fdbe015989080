import Conversion
import Ledger
import Publishing
import PumpRoom
import Storage
import WorkerRules

/// Publishes outputs and reports results to the ledger, one step after the other, as the worker's state decides.
struct Publisher: Sendable {
    let steps: Channel<PublishingStep>
    let outputs: FinishedOutputs
    let calls: LedgerCalls
    let dispatcher: Dispatcher
    let storage: StorageHealth
    let finisher: PublicationFinisher

    init(
        _ steps: Channel<PublishingStep>,
        _ outputs: FinishedOutputs,
        _ calls: LedgerCalls,
        _ dispatcher: Dispatcher,
        _ storage: StorageHealth,
        _ finisher: PublicationFinisher
    ) {
        self.steps = steps
        self.outputs = outputs
        self.calls = calls
        self.dispatcher = dispatcher
        self.storage = storage
        self.finisher = finisher
    }

    func run() async {
        while let step = await steps.take(upTo: 1)?.first { dispatcher.report(await carryOut(step)) }
    }

    private func carryOut(_ step: PublishingStep) async -> WorkerState.Event {
        switch step {
        case .link(let outputs): await link(outputs)
        case .publish(let outputs): await publish(outputs)
        case .complete(let outputs): await complete(outputs)
        case .reportFailures(let reports): .failuresReported(reports, await fail(reports.map(withFacts)))
        case .handBack(let fences, let reason): .handedBack(fences, reason, await release(fences, reason))
        }
    }

    // MARK: - Linking

    /// What came of linking a job's outputs.
    private enum Linking: Sendable {
        case linked
        /// Their file system was unmounted in the meantime, so that no process could reach them.
        case unmounted(MountWatch.Lost?)
        case failed(StorageError)
        /// One of their roots does not answer.
        case givenUp
    }

    /// Makes the outputs durable under their attempts' names.
    private func link(_ wanted: [FinishedOutput]) async -> WorkerState.Event {
        var (linked, others): ([Fence], [Fence: Setback]) = ([], [:])
        for (output, linking) in await linkings(of: wanted) {
            switch linking {
            case .linked:
                outputs.change(output.fence) { $0.isLinked = true }
                linked.append(output.fence)
            case .unmounted(let lost):
                others[output.fence] = .handedBack(lost.map(storage.putOff) ?? HandBack(.fileSystemMissing))
            case .failed(let error):
                let failure = AttemptFailure(output.fence, error.failure, facts: output.facts)
                let roots = output.prepared?.locations.map(\.root) ?? []
                others[output.fence] = await storage.diagnose(failure, output.claim, roots)
            case .givenUp: others[output.fence] = .handedBack(storage.givenUp(output.prepared?.roots ?? []))
            }
        }
        return .linked(linked, not: others)
    }

    /// Links the outputs in each set of roots by themselves, so that a root that does not answer holds up no other.
    private func linkings(of wanted: [FinishedOutput]) async -> [(FinishedOutput, Linking)] {
        let groups = Dictionary(grouping: wanted) { $0.prepared?.roots ?? [] }
        if groups.count == 1, let roots = groups.keys.first { return await link(wanted, in: roots) }
        return await withTaskGroup(of: [(FinishedOutput, Linking)].self) { tasks in
            for (roots, members) in groups { tasks.addTask { await link(members, in: roots) } }
            return await tasks.reduce(into: []) { $0 += $1 }
        }
    }

    private func link(_ wanted: [FinishedOutput], in touched: Set<String>) async -> [(FinishedOutput, Linking)] {
        let (watch, roots) = (storage.mounts, storage.roots.roots)
        let linkings = await storage.files.run(in: touched) {
            Self.link(wanted, watch, roots)
        } late: { linkings in
            // The jobs were handed back, so nothing relies on the files. What cannot be removed is swept later.
            for (output, linking) in zip(wanted, linkings) {
                if case .linked = linking { try? roots.discard(output.attempt, of: output.prepared?.locations ?? []) }
            }
        }
        return Array(zip(wanted, linkings ?? wanted.map { _ in .givenUp }))
    }

    /// Blocks.
    private static func link(_ wanted: [FinishedOutput], _ mounts: MountKeeper, _ roots: StorageRoots) -> [Linking] {
        var group = OutputGroup()
        // Once for the group, whose members are looked at within milliseconds.
        let changes = mounts.watch.refresh()
        // `nil` for members of the group.
        let others = wanted.map { output -> Linking? in
            if let prepared = output.prepared, let fingerprints = output.fingerprints {
                if !prepared.isMounted(mounts.watch, at: changes) {
                    prepared.discardNow()
                    return .unmounted(mounts.lost(for: output.claim, in: roots))
                }
                if prepared.add(to: &group, as: output.attempt, with: fingerprints) { return nil }
            }
            return .failed(StorageError(.attemptLost, at: .publish, "publish", "the output was already discarded"))
        }
        var results = group.link().makeIterator()
        return others.map { other in
            if let other { return other }
            guard case .failure(let error)? = results.next() else { return .linked }
            return .failed(error)
        }
    }

    // MARK: - Publishing

    private func publish(_ due: [FinishedOutput]) async -> WorkerState.Event {
        let answers = await ask(due.map(\.publication))
        return .published(Dictionary(uniqueKeysWithValues: zip(due.map(\.fence), answers)))
    }

    /// Asks the ledger to publish until it answers. Until then the files stay, because the ledger may rely on them.
    ///
    /// `nil` for publications that the ledger rejects as invalid, and for all if the worker stops before an answer.
    /// A later process finds the files through the ledger's row, or sweeps them.
    private func ask(_ publications: [Publication]) async -> [JobAnswer?] {
        if let answers = await calls.ask({ try await calls.ledger.publish(publications) }) { return answers }
        guard publications.count > 1, !Task.isCancelled else { return publications.map { _ in nil } }
        // Retry one by one, so that an invalid publication does not make the others fail.
        var answers: [JobAnswer?] = []
        for publication in publications { answers += await ask([publication]) }
        return answers
    }

    private func complete(_ due: [FinishedOutput]) async -> WorkerState.Event {
        let endings = await calls.ask { try await finisher.carryOut(due.map(\.due), in: storage.roots.roots) }
        var results: [Fence: WorkerState.Completion] = [:]
        for (place, output) in due.enumerated() {
            switch endings?[place] {
            case .finished(let outcome):
                outputs.change(output.fence) { $0.published = outcome }
                if outcome == .published, storage.disks.isAnythingShort { await noteSpace(for: output.claim) }
                results[output.fence] = .init(.completed)
            case .overtaken: results[output.fence] = .init(.completed)
            case .failed(let failure): results[output.fence] = .init(.failed, failure: failure)
            case .postponed(let failure): results[output.fence] = .init(.publishing, failure: failure)
            case nil: results[output.fence] = .init(.publishing)
            }
        }
        return .completed(results)
    }

    /// An output found space, so one earlier job that did not says nothing about the file system.
    private func noteSpace(for claim: Claim) async {
        let (roots, disks) = (storage.roots, storage.disks)
        // What a silent root would say is found out by the next job.
        _ = await storage.files.run(in: claim.roots) {
            for place in RootDiagnosis.destinations(of: claim, in: roots) { disks.noteSpace(on: place.facts.device) }
        }
    }

    // MARK: - Failed and returned jobs

    /// Adds what is known of the output of a job that was cancelled after its conversion.
    private func withFacts(_ report: AttemptFailure) -> AttemptFailure {
        guard report.failure.known == .cancelled, let output = outputs[report.fence] else { return report }
        var report = report
        report.facts = output.facts
        return report
    }

    private func fail(_ reports: [AttemptFailure]) async -> [JobAnswer?] {
        let isWorthIt = { dispatcher.isWorthReporting(reports.map(\.fence)) }
        if let answers = await calls.ask(while: isWorthIt, { try await calls.ledger.fail(reports) }) { return answers }
        guard reports.count > 1, isWorthIt(), !Task.isCancelled else { return reports.map { _ in nil } }
        // Retry one by one, so that an invalid report does not make the others fail.
        var answers: [JobAnswer?] = []
        for report in reports { answers += await fail([report]) }
        return answers
    }

    private func release(_ fences: [Fence], _ reason: HandBack) async -> [JobAnswer?] {
        let answers = await calls.ask(while: { dispatcher.isWorthReporting(fences) }) {
            try await calls.ledger.release(
                fences,
                because: reason.reason,
                needing: reason.need,
                after: reason.hold,
                message: reason.message
            )
        }
        return answers ?? fences.map { _ in nil }
    }
}
