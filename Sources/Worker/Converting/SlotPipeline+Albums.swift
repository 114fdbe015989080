import Conversion
import Ledger
import PumpRoom
import Storage
import WorkerRules

// A job of an album is worked on twice: once to measure its track, and again when the loudness of all tracks is known.
extension SlotPipeline {
    func workInAlbum(_ job: HeldJob, _ prepared: PreparedJob) async -> PipelineResult {
        let (ledger, fence) = (services.ledger, job.fence)
        let isWorthIt = { services.dispatcher.stopReason(of: fence) == nil }
        guard let state = await services.calls.ask(while: isWorthIt, { try await ledger.album(of: fence) }) else {
            prepared.discard()
            return .stopped
        }
        switch state {
        case .closed(let album):
            guard prepared.plan.contains(where: \.isWritten) else {
                prepared.discard()
                return existing(prepared.plan, of: job.claim)
            }
            return await convert(job, prepared, of: album)
        case .open(isMeasured: true), .lost:
            prepared.discard()
            return .handedBack(.albumWaits)
        case .open(isMeasured: false): return await measure(job, prepared)
        }
    }

    private func measure(_ job: HeldJob, _ prepared: PreparedJob) async -> PipelineResult {
        // The whole recipe: which of the outputs exist already must not change what is measured.
        let recipe = job.claim.recipe
        var work = RoomWork(measuring: recipe, from: prepared.sources)
        work.sourceBytes = recipe.timeline == nil ? prepared.sourceBytes : nil
        let outcome = await inRoom(job, prepared, work)
        let (ledger, fence) = (services.ledger, job.fence)
        let isWorthIt = { services.dispatcher.stopReason(of: fence) == nil }
        guard isWorthIt() else {
            prepared.discard()
            return .stopped
        }
        switch outcome {
        case .done(let track, _):
            let isUnchanged = await areSourcesUnchanged(prepared)
            guard isUnchanged != false else {
                return await diagnosed(AttemptFailure(job.fence, prepared.change(), facts: facts()), job, prepared)
            }
            prepared.discard()
            guard isUnchanged != nil else { return .handedBack(services.storage.givenUp(prepared.roots)) }
            let isOurs = await services.calls.ask(while: isWorthIt) { try await ledger.record(track, of: fence) }
            // Without an answer the job is measured again, if the ledger did not receive the figures.
            return isOurs == nil ? .stopped : .handedBack(.albumWaits)
        case .handedBack:
            prepared.discard()
            return .handedBack(HandBack(.neighbourCrashed))
        case .failed(let failed): return await diagnosed(report(of: failed, job), job, prepared)
        }
    }
}

extension HandBack {
    /// The ledger keeps the job until its album is closed.
    fileprivate static let albumWaits = HandBack(
        .albumWaits,
        message: "its loudness is measured; it continues when all jobs of the batch are"
    )
}
