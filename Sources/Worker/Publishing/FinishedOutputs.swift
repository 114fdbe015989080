import Conversion
import Ledger
import Publishing
import Storage
import Synchronization

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

/// The outputs of the jobs that the worker still holds, by their jobs. The worker's state knows them by name only.
final class FinishedOutputs: Sendable {
    private let outputs = Mutex<[Fence: FinishedOutput]>([:])

    subscript(_ fence: Fence) -> FinishedOutput? { outputs.withLock { $0[fence] } }

    /// The output of a job that the worker publishes.
    func output(of fence: Fence) -> FinishedOutput {
        guard let output = self[fence] else { preconditionFailure("a job has ended without its output: \(fence)") }
        return output
    }

    /// Adds the outputs of a job.
    func add(_ output: FinishedOutput) {
        outputs.withLock { outputs in
            // A pipeline adds what a job has brought once, and returns at once with the job's result.
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
