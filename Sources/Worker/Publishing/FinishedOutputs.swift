import Conversion
import Ledger
import Publishing
import Storage
import Synchronization

/// What a job has brought, until the job leaves the worker.
struct FinishedOutput: Sendable {
    let claim: Claim
    var facts = AttemptFacts()
    /// The file; `nil` if there is none to publish, or none any more.
    var prepared: PreparedJob?
    var fingerprint: Fingerprint?
    /// The output that an earlier attempt has published.
    var made: MadeOutput?
    /// Whether there is no file to publish, because the recipe says to leave the destination alone.
    var isSkipped = false
    /// Whether the file has its attempt's name.
    var isLinked = false
    /// What came of its publication.
    var published: PublishOutcome?

    var fence: Fence { claim.fence }
    var attempt: AttemptName { AttemptName(fence) }
    private var policy: Recipe.ConflictPolicy { claim.recipe.outputs.first?.onConflict ?? .fail }

    var publication: Publication {
        guard let (place, fingerprint) = file else { return SkippedOutput.publication(fence) }
        return Publication(
            fence,
            attemptName: attempt.fileName(for: place.name),
            digest: fingerprint.hexDigest,
            bytes: fingerprint.byteCount,
            facts: facts
        )
    }

    /// Where an earlier attempt has published the output, there is no file of this attempt, so the order finds the
    /// existing output and adopts it if its bytes have not changed.
    var due: DuePublication {
        DuePublication(
            fence,
            order: file.map { place, fingerprint in
                PublishOrder(of: attempt, to: place, with: fingerprint, onConflict: policy)
            }
        )
    }

    /// `nil` if the job was skipped. A converted job must never pass as skipped: its output would be lost.
    private var file: (place: Location, Fingerprint)? {
        if isSkipped { return nil }
        if let made { return (made.location, made.fingerprint) }
        guard let prepared, let fingerprint else { preconditionFailure("the output of \(fence) is incomplete") }
        return (prepared.location, fingerprint)
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

    /// Adds the only output of a job.
    func add(_ output: FinishedOutput) {
        outputs.withLock { outputs in
            precondition(outputs[output.fence] == nil, "a job has two outputs: \(output.fence)")
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

    /// Takes an output's file, for the caller to remove. Its facts stay.
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
