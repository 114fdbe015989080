import Conversion
import Ledger
import Publishing
import PumpRoom
import Storage
import System
import WorkerRules

/// One pipeline of a slot: takes one job after another, opens its files, and has the room convert.
struct SlotPipeline: Sendable {
    let jobs: Channel<HeldJob>
    let room: RoomSlot
    let slot: Int
    let services: PipelineServices

    func run() async {
        while let job = await jobs.take(upTo: 1)?.first {
            let result = await work(on: job)
            services.dispatcher.report(.ended(job.fence, services.outputs.keep(result)))
            // Small outputs were read back when they were sealed, so the digester has nothing to do.
            if result.isDigested { services.dispatcher.report(.digested(job.fence, nil)) }
        }
    }

    private func work(on job: HeldJob) async -> PipelineResult {
        let (claim, storage, codecs) = (job.claim, services.storage, services.codecs)
        let (roots, disks, mounts) = (storage.roots.usable, storage.disks, storage.mounts)
        let objectRoots = storage.roots.objects
        let files = storage.files
        let preparation = await files.run(in: claim.roots) {
            Preparation.of(claim, in: roots, objectRoots, codecs: codecs, disks, mounts, files)
        }
        switch preparation {
        case nil: return .handedBack(storage.givenUp(claim.roots))
        case .ready(let prepared):
            for location in prepared.locations { services.sweeper.use(location, for: job.fence) }
            await tellBeginning(of: job)
            if let scan = claim.recipe.scan { return await self.scan(job, prepared, for: scan) }
            guard claim.recipe.belongsToAlbum else { return await convert(job, prepared) }
            return await workInAlbum(job, prepared)
        case .existing(let plan): return existing(plan, of: claim)
        case .unable(let need): return .handedBack(HandBack(.unable, need: need))
        case .failed(let error, let root, let isWriting):
            let report = AttemptFailure(job.fence, error.failure, facts: facts())
            let roots = [root].compactMap(\.self)
            return PipelineResult(await storage.diagnose(report, claim, roots, isWriting: isWriting))
        case .fileSystemFull(let facts): return .handedBack(storage.putOff(facts))
        case .fileSystemMissing(let lost): return .handedBack(storage.putOff(lost))
        }
    }

    /// Reports the start of a job that earlier attempts lost. For other jobs the next heartbeat is soon enough; this
    /// job may be what kills its workers before they send one.
    private func tellBeginning(of job: HeldJob) async {
        guard job.claim.losses > 0 else { return }
        let begun = RunningJob(job.fence, slot: Int16(clamping: slot))
        // If the report fails, the job begins all the same: conversions continue while the ledger is out of reach.
        try? await services.ledger.begin([begun], of: job.worker, within: .seconds(5))
    }

    /// Ends a job that has nothing to write.
    func existing(_ plan: [PlannedOutput], of claim: Claim) -> PipelineResult {
        let facts = plan.contains(where: \.isMade) ? facts() : AttemptFacts()
        return .existing(FinishedOutput(claim: claim, plan: plan, facts: facts, fingerprints: []))
    }

    // MARK: - Converting

    func convert(_ job: HeldJob, _ prepared: PreparedJob, of album: AlbumLoudness? = nil) async -> PipelineResult {
        let outcome = await outcome(of: job, prepared, album)
        if case .done(let reports, let cost) = outcome,
            reports.allSatisfy({ $0.plannedFrames == $0.writtenFrames })
        {
            let facts = facts(reports, cost, of: job, prepared.plan)
            guard let (isUnchanged, sealed) = await sealed(prepared) else {
                prepared.discard()
                return .handedBack(services.storage.givenUp(prepared.roots))
            }
            guard let problem = objection(to: reports, sealed.map { $0.evidence }, job.claim, prepared) else {
                guard isUnchanged else {
                    return await diagnosed(AttemptFailure(job.fence, prepared.change(), facts: facts), job, prepared)
                }
                // `try?`: sealing has succeeded, else there would be an objection.
                let fingerprints = (try? sealed.get())?.fingerprints
                return .output(
                    FinishedOutput(
                        claim: job.claim,
                        plan: prepared.plan,
                        facts: facts,
                        prepared: prepared,
                        fingerprints: fingerprints
                    )
                )
            }
            if problem.isLie, let process = cost.process { room.distrust(process, because: problem.failure.message) }
            let failed = AttemptFailure(job.fence, problem.failure, isRoomDeath: problem.isLie, facts: facts)
            return await diagnosed(failed, job, prepared)
        }
        if let reason = services.dispatcher.stopReason(of: job.fence), !reason.isLoss {
            prepared.discard()
            return .stopped
        }
        switch outcome {
        case .done(let reports, let cost):
            let facts = facts(reports, cost, of: job, prepared.plan)
            prepared.discard()
            let place = reports.firstIndex { $0.plannedFrames != $0.writtenFrames } ?? 0
            let failure = Failure.framesDiffer(reports[place]).of(output: place, in: prepared)
            return .failed(AttemptFailure(job.fence, failure, facts: facts))
        case .handedBack:
            prepared.discard()
            return .handedBack(HandBack(.neighbourCrashed))
        case .failed(var failed):
            failed.failure = failed.failure.naming(prepared.locations.map(\.description))
            if failed.failure.isOfTheFile, !failed.isRoomDeath, await areSourcesUnchanged(prepared) == false {
                failed.failure = prepared.change(failed.failure)
            }
            return await diagnosed(report(of: failed, job), job, prepared)
        }
    }

    func report(of failed: RoomFailure, _ job: HeldJob) -> AttemptFailure {
        var facts = facts()
        (facts.framesIn, facts.cpu, facts.peakBytes) = (failed.frames, failed.cost.cpu, failed.cost.peakBytes)
        return AttemptFailure(
            job.fence,
            failed.failure,
            lastWords: failed.lastWords,
            isRoomDeath: failed.isRoomDeath,
            facts: facts
        )
    }

    private func outcome(of job: HeldJob, _ prepared: PreparedJob, _ album: AlbumLoudness?) async -> RoomOutcome<
        [ConversionReport]
    > {
        let recipe = prepared.reduced(job.claim.recipe)
        var work = RoomWork(recipe, from: prepared.sources, to: prepared.destinations, album: album)
        // A timeline may repeat a small source for hours.
        work.sourceBytes = job.claim.recipe.timeline == nil ? prepared.sourceBytes : nil
        work.endsRoom = !prepared.canBeSealed
        return await inRoom(job, prepared, work)
    }

    /// Has the room work on a job, so that the worker can cancel it and sees its progress.
    func inRoom<Answer>(
        _ job: HeldJob,
        _ prepared: PreparedJob,
        _ work: RoomWork<Answer>
    ) async -> RoomOutcome<Answer> {
        var work = work
        work.windows = prepared.windows
        work.party = job.claim.tenant
        let (dispatcher, fence) = (services.dispatcher, job.fence)
        let conversion = Task { [room, work] in
            await room.run(
                work,
                report: { dispatcher.report(.progressed(fence, $0)) },
                began: { dispatcher.report(.began(fence)) }
            )
        }
        services.conversions.begin(fence) { conversion.cancel() }
        dispatcher.report(.cancellable(fence))
        defer { services.conversions.end(fence) }
        return prepared.judged(await conversion.value)
    }

    /// Removes the output and finds out whether the storage is to blame.
    func diagnosed(_ report: AttemptFailure, _ job: HeldJob, _ prepared: PreparedJob) async -> PipelineResult {
        // The slot believes this only of a format that the worker may not read.
        if report.failure.known == .unable, let format = report.failure.libavName {
            prepared.discard()
            return .handedBack(HandBack(.unable, need: AbilityWord.format(format)))
        }
        // First the root where bytes of a source were missing.
        let missing = [prepared.objects.root].compactMap(\.self)
        let roots = missing + prepared.sourceRoots + prepared.locations.map(\.root)
        return PipelineResult(await services.storage.diagnose(report, job.claim, roots) { prepared.discardNow() })
    }

    private typealias Sealed = Result<(evidence: [OutputEvidence], fingerprints: [Fingerprint]?), StorageError>

    /// Looks whether the sources are as they were, closes them, seals the outputs, and reads back those that are small.
    /// `nil` if that was given up.
    private func sealed(_ prepared: PreparedJob) async -> (isUnchanged: Bool, sealed: Sealed)? {
        await services.storage.files.run(in: prepared.roots) {
            let isUnchanged = prepared.areSourcesUnchanged
            return (isUnchanged, Result { () throws(StorageError) in try prepared.sealAndDigest() })
        }
    }

    /// Whether the sources are as they were when they were opened; `nil` if the question was given up.
    func areSourcesUnchanged(_ prepared: PreparedJob) async -> Bool? {
        await services.storage.files.run(in: prepared.roots) { prepared.areSourcesUnchanged }
    }

    /// Why the room's outputs cannot be published; `nil` if they can. Sealing them has shown whether a process can still
    /// write to one.
    private func objection(
        to reports: [ConversionReport],
        _ sealed: Result<[OutputEvidence], StorageError>,
        _ claim: Claim,
        _ prepared: PreparedJob
    ) -> OutputObjection? {
        switch sealed {
        case .success(let evidence):
            for (place, (evidence, report)) in zip(evidence, reports).enumerated() {
                guard var problem = evidence.objection(to: report, services.limits(for: claim)) else { continue }
                problem.failure = problem.failure.of(output: place, in: prepared)
                return problem
            }
            return nil
        case .failure(let error): return OutputObjection(failure: error.failure, isLie: false)
        }
    }

    private func facts(
        _ reports: [ConversionReport],
        _ cost: RoomCost,
        of job: HeldJob,
        _ plan: [PlannedOutput]
    ) -> AttemptFacts {
        let pieces = job.claim.recipe.isSplit
        var facts = AttemptFacts(reports, pieces: pieces, slot: slot, cpu: cost.cpu, peakBytes: cost.peakBytes)
        facts.outputNumbers = plan.numbersOfWritten
        return facts
    }

    func facts() -> AttemptFacts { AttemptFacts(slot: Int16(clamping: slot)) }
}

/// What the pipelines of all slots use.
struct PipelineServices: Sendable {
    let dispatcher: Dispatcher
    let ledger: JobLedger
    let calls: LedgerCalls
    let storage: StorageHealth
    let outputs: FinishedOutputs
    let conversions: RunningConversions
    let sweeper: Sweeper
    /// The codecs that this worker writes.
    let codecs: Set<Codec>
    let room: RoomConfiguration

    func limits(for claim: Claim) -> Recipe.Limits { room.limits(for: claim.recipe.limits) }
}

extension Claim {
    /// The names of the roots in which the job has files.
    var roots: Set<String> {
        var roots: Set<String> = []
        for place in recipe.sources.map(\.location) + recipe.outputs.map(\.location) {
            // As in a location. One without a colon is invalid, and nothing is opened for it.
            let letters = place.unicodeScalars
            if let colon = letters.firstIndex(of: ":") { roots.insert(String(letters[..<colon])) }
        }
        return roots
    }
}
