import Conversion
import FoundationEssentials
import Ledger
import PumpRoom
import Storage
import WorkerRules

// A scan is decoded in a room, and writes nothing. Its result is recorded before the job completes, and a repetition of the job
// records it again.
extension SlotPipeline {
    func scan(_ job: HeldJob, _ prepared: PreparedJob, for wishes: Recipe.Scan) async -> PipelineResult {
        let recipe = job.claim.recipe
        do throws(RecipeError) {
            try recipe.validate()
        } catch {
            prepared.discard()
            let failure = Failure(.recipeRefused, at: .open, "the recipe is invalid: \(error.description)")
            return .failed(AttemptFailure(job.fence, failure, facts: facts()))
        }
        var work = RoomWork(
            describing: prepared.sources[0],
            ProbeOptions(
                nameHint: recipe.sources[0].location,
                scans: true,
                measuresLoudness: wishes.loudness,
                digestsSound: true,
                limits: recipe.limits
            )
        )
        work.sourceBytes = prepared.sourceBytes
        let outcome = await inRoom(job, prepared, work)
        guard services.dispatcher.stopReason(of: job.fence) == nil else {
            prepared.discard()
            return .stopped
        }
        switch outcome {
        case .done(let report, let cost): return await conclude(job, report, cost, prepared)
        case .handedBack:
            prepared.discard()
            return .handedBack(HandBack(.neighbourCrashed))
        case .failed(let failed):
            let report = report(of: failed, job)
            guard failed.failure.isOfTheFile, !failed.isRoomDeath else { return await diagnosed(report, job, prepared) }
            return await ended(job, report.failure, report.facts, prepared)
        }
    }

    /// Ends a scan that has decoded its source.
    private func conclude(
        _ job: HeldJob,
        _ report: SourceReport,
        _ cost: RoomCost,
        _ prepared: PreparedJob
    ) async -> PipelineResult {
        var facts = facts()
        (facts.framesIn, facts.cpu, facts.peakBytes) = (report.scan?.frames, cost.cpu, cost.peakBytes)
        guard var scan = report.scan, let sound = scan.sound else {
            let failure =
                report.isProtected
                ? Failure(.protectedContent, at: .open, "the sound is encrypted")
                : Failure(.noDecodableFrame, at: .decode, "not one frame of sound could be decoded")
            return await ended(job, failure, facts, prepared)
        }
        scan.damage = scan.damage.within(scan.frames)
        scan.loudness = report.loudness
        facts.audio = scan.seconds.map { .seconds($0) }
        let answer = await record(sound, of: job, prepared)
        if answer.isRecorded { facts.scan = scan }
        switch answer {
        case .recorded where scan.damage.isEmpty:
            return .existing(FinishedOutput(claim: job.claim, plan: [], facts: facts, fingerprints: []))
        case .recorded: return .failed(AttemptFailure(job.fence, .damaged(scan, sound), facts: facts))
        case .rotten(let digest, let since):
            return .failed(AttemptFailure(job.fence, .rotten(digest, since, now: sound.sha256), facts: facts))
        case .unrecorded(let failure):
            return await diagnosed(AttemptFailure(job.fence, failure, facts: facts), job, prepared)
        case .handedBack(let reason): return .handedBack(reason)
        case .stopped: return .stopped
        }
    }

    /// Ends a scan that could not decode its source because of the file itself. The file may have been readable when it was
    /// scanned last.
    private func ended(
        _ job: HeldJob,
        _ failure: Failure,
        _ facts: AttemptFacts,
        _ prepared: PreparedJob
    ) async -> PipelineResult {
        switch await record(nil, of: job, prepared) {
        case .recorded: return .failed(AttemptFailure(job.fence, failure, facts: facts))
        case .rotten(let digest, let since):
            return .failed(AttemptFailure(job.fence, .rotten(digest, since, now: nil, failure), facts: facts))
        case .unrecorded(let failure):
            return await diagnosed(AttemptFailure(job.fence, failure, facts: facts), job, prepared)
        case .handedBack(let reason): return .handedBack(reason)
        case .stopped: return .stopped
        }
    }

    /// Closes the source and records a result, unless the source was changed while it was read: then it is the result of no
    /// file.
    private func record(_ sound: SoundDigest?, of job: HeldJob, _ prepared: PreparedJob) async -> RecordedScan {
        let isUnchanged = await areSourcesUnchanged(prepared)
        prepared.discard()
        guard let isUnchanged else { return .handedBack(services.storage.givenUp(prepared.roots)) }
        guard isUnchanged else { return .unrecorded(prepared.change()) }
        let (ledger, dispatcher, fence, stamp) = (services.ledger, services.dispatcher, job.fence, prepared.stamp)
        let answer = await services.calls.ask(while: { dispatcher.stopReason(of: fence) == nil }) {
            try await RecordedScan(ledger.recordScan(sound, of: stamp, fence))
        }
        if let answer { return answer }
        // Without a reason to stop, the ledger has refused the result, which has been reported. The attempt counts: otherwise
        // the source would be decoded again without end.
        let isStopped = dispatcher.stopReason(of: fence) != nil || Task.isCancelled
        return isStopped ? .stopped : .unrecorded(.refused)
    }
}

/// What became of the result of a scan.
private enum RecordedScan {
    case recorded
    /// It is recorded that an earlier digest does not fit the result.
    case rotten(digest: String, since: Date)
    case unrecorded(Failure)
    case handedBack(HandBack)
    /// The worker stops, or no longer has the job.
    case stopped

    init(_ verdict: ScanVerdict) {
        self =
            switch verdict {
            case .recorded: .recorded
            case .rotten(let digest, let since): .rotten(digest: digest, since: since)
            case .lost: .stopped
            }
    }

    var isRecorded: Bool {
        switch self {
        case .recorded, .rotten: true
        case .unrecorded, .handedBack, .stopped: false
        }
    }
}

extension DamageReport {
    /// The places with what lies in `frames` of sound. A source whose rate changes can have others.
    fileprivate func within(_ frames: Int64) -> DamageReport {
        var report = self
        report.stretches = stretches.map { place in
            let start = min(place.start, frames)
            return Stretch(start: start, frames: min(place.frames, frames - start), code: place.code)
        }
        return report
    }
}

extension Failure {
    /// Whether another attempt by another worker would see the same, because the bytes of the file are as they are.
    var isOfTheFile: Bool {
        guard let known, kind == .permanent else { return false }
        let ofLibraries: Set<FailureCode> = [
            .containerNotAllowed, .unsupportedCodec, .unsupportedBitDepth, .unsupportedEditList,
            .tooManyStreams,
        ]
        return !ofLibraries.contains(known)
            && (FailureSection.sources.entries + FailureSection.damage.entries).contains { $0.code == known }
    }

    fileprivate static let refused: Failure = {
        let message = "the ledger did not take the result of the scan; the worker's log has the error"
        var failure = Failure(.unexpected, at: .ledger, message)
        failure.kind = .transient
        return failure
    }()

    /// At the first place of damage.
    fileprivate static func damaged(_ scan: ScanReport, _ sound: SoundDigest) -> Failure {
        let (damage, places) = (scan.damage, Plural.count(scan.damage.stretchCount, "place"))
        let lost = damage.frames > 0 ? ", \(Plural.count(damage.frames, "frame")) lost" : ""
        let first = damage.stretches.first
        var failure = Failure(
            .damageFound,
            at: .decode,
            "damaged in \(places)\(lost)" + (first.map { "; the first is \($0.code)" } ?? "")
        )
        failure.position = first.map { MediaTime(frames: $0.start, rate: sound.sampleRateHz) }
        failure.frame = first?.start
        return failure
    }

    /// `now` is the digest of the sound now, or `nil` if it cannot be decoded because of `other`.
    fileprivate static func rotten(_ digest: String, _ since: Date, now: String?, _ other: Failure? = nil) -> Failure {
        let then = "the sound had the digest \(digest) on \(since.formatted(.iso8601))"
        let why = other.map { " (\($0.code): \($0.message))" } ?? ""
        let found = now.map { "has \($0) now" } ?? "cannot be decoded now\(why)"
        return Failure(.bitRot, at: .decode, "\(then) and \(found); the size and the time of the file are the same")
    }
}
