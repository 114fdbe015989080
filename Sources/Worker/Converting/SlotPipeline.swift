import Conversion
import Ledger
import Publishing
import PumpRoom
import Storage
import System

/// One pipeline of a slot: takes one job after another, opens its files, and has the room convert.
struct SlotPipeline: Sendable {
    let shop: Workshop
    let room: RoomSlot
    let slot: Int
    /// The number of this pipeline. While one pipeline converts, the slot's others prepare.
    let pipeline: Int
    let files: BlockingQueue

    func run() async {
        while !Task.isCancelled {
            let seen = shop.board.signal.count
            guard let job = shop.board.start(in: slot, pipeline: pipeline) else {
                await shop.board.signal.wait(since: seen)
                continue
            }
            await work(on: job)
        }
    }

    private func work(on job: JobInHand) async {
        let (claim, roots, codecs, disks, mounts) = (
            job.claim, shop.roots.usable, shop.codecs, shop.disks, shop.mounts
        )
        switch await files.run({ Preparation.of(claim, in: roots, codecs: codecs, disks, mounts) }) {
        case .ready(let prepared):
            shop.sweeper.use(prepared.location, for: job.fence)
            await tellBeginning(of: job)
            await convert(job, prepared)
        case .skipped: end(job, .skipped)
        case .made(let output): end(job, .made(output, facts()))
        case .unable(let need): end(job, .handedBack(.unable, need: need))
        case .failed(let error, let root):
            let roots = [root].compactMap(\.self)
            end(
                job,
                await shop.diagnose(AttemptFailure(job.fence, error.failure, facts: facts()), claim, roots, on: files)
            )
        case .fileSystemFull(let facts): end(job, shop.putOff(facts))
        case .fileSystemMissing(let lost): end(job, shop.putOff(lost))
        }
    }

    /// Reports the start of a job that earlier attempts lost. For other jobs the next heartbeat is soon enough; this
    /// job may be what kills its workers before they send one.
    private func tellBeginning(of job: JobInHand) async {
        guard job.claim.losses > 0 else { return }
        let begun = RunningJob(job.fence, slot: Int16(clamping: slot))
        // If the report fails, the job begins all the same: conversions continue while the ledger is out of reach.
        try? await shop.ledger.begin([begun], of: job.session.worker, within: .seconds(5))
    }

    private func convert(_ job: JobInHand, _ prepared: PreparedJob) async {
        let (board, fence) = (shop.board, job.fence)
        var work = RoomWork(job.claim.recipe, from: prepared.source, to: prepared.destination)
        (work.sourceBytes, work.endsRoom) = (prepared.sourceBytes, !prepared.canBeSealed)
        let conversion = Task { [room] in await room.run(work) { board.progressed(fence, $0) } }
        board.began(fence) { conversion.cancel() }
        let outcome = await conversion.value
        prepared.closeSource()
        if case .converted(let report, let cost) = outcome, report.plannedFrames == report.writtenFrames {
            let facts = AttemptFacts(report, slot: slot, cpu: cost.cpu, peakBytes: cost.peakBytes)
            let problem = await objection(to: report, job.claim, prepared)
            guard let problem else {
                board.converted(fence, in: slot, counts: true)
                return shop.converted.put(ConvertedJob(fence: fence, prepared: prepared, facts: facts))
            }
            if problem.isLie, let process = cost.process { room.distrust(process, because: problem.failure.message) }
            prepared.discard()
            let failed = AttemptFailure(fence, problem.failure, isRoomDeath: problem.isLie, facts: facts)
            let roots = [prepared.sourceRoot, prepared.location.root]
            return end(job, await shop.diagnose(failed, job.claim, roots, on: files))
        }
        prepared.discard()
        switch (outcome, board.job(fence)?.stop) {
        case (_, .draining?): end(job, .handedBack(.draining, need: nil))
        case (_, .cancelled?): end(job, .failed(AttemptFailure(fence, .cancelled, facts: facts())))
        case (.converted(let report, let cost), _):
            let facts = AttemptFacts(report, slot: slot, cpu: cost.cpu, peakBytes: cost.peakBytes)
            end(job, .failed(AttemptFailure(fence, .framesDiffer(report), facts: facts)))
        case (.handedBack, _): end(job, .handedBack(.neighbourCrashed, need: nil))
        case (.failed(let failed), _):
            let roots = [prepared.sourceRoot, prepared.location.root]
            var facts = facts()
            (facts.framesIn, facts.cpu, facts.peakBytes) = (failed.frames, failed.cost.cpu, failed.cost.peakBytes)
            let report = AttemptFailure(
                fence,
                failed.failure,
                lastWords: failed.lastWords,
                isRoomDeath: failed.isRoomDeath,
                facts: facts
            )
            end(job, await shop.diagnose(report, job.claim, roots, on: files))
        }
    }

    /// Why the room's output cannot be published; `nil` if it can. Seals the output first, which
    /// shows whether a process can still write to it.
    private func objection(
        to report: ConversionReport,
        _ claim: Claim,
        _ prepared: PreparedJob
    ) async -> OutputObjection? {
        do throws(StorageError) {
            return try await prepared.seal().objection(
                to: report,
                shop.configuration.room.limits(for: claim.recipe.limits)
            )
        } catch {
            return OutputObjection(failure: error.failure, isLie: false)
        }
    }

    private func facts() -> AttemptFacts { AttemptFacts(slot: Int16(clamping: slot)) }

    /// Frees the slot and queues the result for the ledger.
    private func end(_ job: JobInHand, _ kind: JobEnding.Kind) {
        shop.board.converted(job.fence, in: slot, counts: false)
        shop.outbox.put(JobEnding(fence: job.fence, kind: kind))
    }
}

/// A converted job whose output has no digest yet.
struct ConvertedJob: Sendable {
    var fence: Fence
    var prepared: PreparedJob
    var facts: AttemptFacts
}
