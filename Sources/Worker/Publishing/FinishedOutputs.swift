import Conversion
import Ledger
import Publishing
import Storage
import Synchronization
import WorkerRules

/// What a job has brought, until the job leaves the worker.
struct FinishedOutput: Sendable {
    let claim: Claim
    /// For each output of the recipe.
    let plan: [PlannedOutput]
    var facts: AttemptFacts
    /// The files; `nil` if there are none to publish, or none any more.
    var prepared: PreparedJob?
    /// Those of the files, once they have been computed.
    var fingerprints: [Fingerprint]?
    /// Whether the files have their attempt's name.
    var isLinked = false
    /// What came of their publication.
    var published: PublishOutcome?

    init(
        claim: Claim,
        plan: [PlannedOutput],
        facts: AttemptFacts,
        prepared: PreparedJob? = nil,
        fingerprints: [Fingerprint]? = nil
    ) {
        self.claim = claim
        self.plan = plan
        self.facts = facts
        self.prepared = prepared
        self.fingerprints = fingerprints
    }

    var fence: Fence { claim.fence }
    var attempt: AttemptName { AttemptName(fence) }
    /// The size of the outputs together.
    var bytes: Int64? { fingerprints.map { $0.reduce(0) { $0 + $1.byteCount } } }

    var publication: Publication {
        if let sound = facts.scan?.sound, claim.recipe.scan != nil {
            return ScanPublication.publication(fence, of: sound, facts: facts)
        }
        let files = files
        let further = files.dropFirst().map { $0.map { PublishedFile(digest: $1.hexDigest, bytes: $1.byteCount) } }
        guard let (place, fingerprint) = files[0] else {
            return SkippedOutput.publication(fence, further: further, facts: facts)
        }
        return Publication(
            fence,
            attemptName: attempt.fileName(for: place.name),
            digest: fingerprint.hexDigest,
            bytes: fingerprint.byteCount,
            further: further,
            facts: facts
        )
    }

    /// Where an earlier attempt has published an output, there is no file of this attempt, so the order finds the
    /// existing output and adopts it if its bytes have not changed.
    var due: DuePublication {
        DuePublication(
            fence,
            orders: zip(files, claim.recipe.outputs).map { file, output in
                file.map { place, fingerprint in
                    PublishOrder(of: attempt, to: place, with: fingerprint, onConflict: output.onConflict)
                }
            }
        )
    }

    /// `nil` for outputs that are left alone. What was converted must never pass as left alone: it would be lost.
    private var files: [(place: Location, Fingerprint)?] {
        guard let fingerprints else { preconditionFailure("the output of \(fence) is incomplete") }
        var written = fingerprints.makeIterator()
        return plan.map { output in
            switch output {
            case .leftAlone: return nil
            case .made(let place, let fingerprint): return (place, fingerprint)
            case .written(let place):
                guard let fingerprint = written.next() else {
                    preconditionFailure("an output of \(fence) has no fingerprint")
                }
                return (place, fingerprint)
            }
        }
    }
}

/// What a pipeline has made of a job. If there is an output, it is part of the result.
enum PipelineResult: Sendable {
    /// Converted completely. The output has files to publish.
    case output(FinishedOutput)
    /// There is no file to publish: the job was skipped, or an earlier attempt has published its output.
    case existing(FinishedOutput)
    /// The conversion ended because it was to be stopped.
    case stopped
    case failed(AttemptFailure)
    case handedBack(HandBack)

    /// Whether it has an output whose fingerprints are known.
    var isDigested: Bool {
        if case .output(let output) = self { output.fingerprints != nil } else { false }
    }

    init(_ setback: Setback) {
        self =
            switch setback {
            case .failed(let report): .failed(report)
            case .handedBack(let reason): .handedBack(reason)
            }
    }
}

/// What the publisher does next, with the outputs concerned.
enum PublishingStep: Sendable {
    case link([FinishedOutput]), publish([FinishedOutput]), complete([FinishedOutput])
    case reportFailures([AttemptFailure])
    case handBack([Fence], HandBack)

    init(_ step: WorkerState.PublisherStep, _ outputs: FinishedOutputs) {
        self =
            switch step {
            case .link(let fences): .link(fences.map(outputs.output))
            case .publish(let fences): .publish(fences.map(outputs.output))
            case .complete(let fences): .complete(fences.map(outputs.output))
            case .reportFailures(let reports): .reportFailures(reports)
            case .handBack(let fences, let reason): .handBack(fences, reason)
            }
    }
}

/// The outputs of the jobs that the worker still holds, by their jobs. The worker's state knows them by name only: `keep`
/// takes them from a result on its way to the state, and `output(of:)` adds them to what the state decides.
final class FinishedOutputs: Sendable {
    private let outputs = Mutex<[Fence: FinishedOutput]>([:])

    subscript(_ fence: Fence) -> FinishedOutput? { outputs.withLock { $0[fence] } }

    /// Keeps the output of a job that has left its pipeline. Returns what the state learns of the result.
    func keep(_ result: PipelineResult) -> JobResult {
        switch result {
        case .output(let output):
            add(output)
            return .output
        case .existing(let output):
            add(output)
            return .existing
        case .stopped: return .stopped
        case .failed(let report): return .failed(report)
        case .handedBack(let reason): return .handedBack(reason)
        }
    }

    /// The output that the state names. It names only those that it has learned of by `keep`, until it closes their jobs.
    func output(of fence: Fence) -> FinishedOutput {
        guard let output = self[fence] else { preconditionFailure("the state names an unknown output: \(fence)") }
        return output
    }

    private func add(_ output: FinishedOutput) {
        outputs.withLock { outputs in
            // A job is in one pipeline, which has one result.
            precondition(outputs[output.fence] == nil, "a job has ended twice: \(output.fence)")
            outputs[output.fence] = output
        }
    }

    func change(_ fence: Fence, _ body: (inout FinishedOutput) -> Void) {
        outputs.withLock { outputs in
            guard var output = outputs[fence] else { return }
            body(&output)
            outputs[fence] = output
        }
    }

    /// Takes the files of a job, for the caller to remove. Its facts stay.
    func discard(_ fence: Fence) -> FinishedOutput? {
        outputs.withLock { outputs in
            guard let output = outputs[fence], output.prepared != nil else { return nil }
            outputs[fence]?.prepared = nil
            return output
        }
    }

    /// The job has left the worker.
    func remove(_ fence: Fence) -> FinishedOutput? { outputs.withLock { $0.removeValue(forKey: fence) } }
}
