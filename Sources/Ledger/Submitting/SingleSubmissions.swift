import Conversion
import Synchronization

/// A submission of one job under a generated key.
///
/// Its caller either makes the call itself, or waits while another call carries the submission.
final class SingleSubmission: Sendable {
    /// What the jobs of one call have in common. They belong into one lane: a call that took the locks of several
    /// could deadlock with another.
    struct Kind: Hashable {
        let queue: String
        let priority: Int32
        let needs: [String]
    }

    private enum State {
        case new
        case waiting(CheckedContinuation<SubmissionReceipt?, any Error>)
        case ended
    }

    let call: SubmissionCall
    let kind: Kind
    /// The job as a JSON object.
    let job: String
    let digest: RequestDigest
    let deadline: ContinuousClock.Instant
    private let state = Mutex(State.new)

    init(_ call: SubmissionCall, _ request: JobRequest, until deadline: ContinuousClock.Instant) throws {
        var writer = RequestWriter(call.submission)
        job = try writer.write(request).json
        digest = writer.digest
        kind = Kind(queue: call.submission.queue, priority: call.submission.priority, needs: request.needs)
        (self.call, self.deadline) = (call, deadline)
    }

    /// Whether the caller still waits for an answer.
    var isAwaited: Bool {
        state.withLock { state in
            if case .waiting = state { true } else { false }
        }
    }

    /// Lets the caller wait for `end`. Returns false, and resumes it, if it was cancelled before.
    fileprivate func await(_ continuation: CheckedContinuation<SubmissionReceipt?, any Error>) -> Bool {
        let waits = state.withLock { state in
            if case .ended = state { return false }
            state = .waiting(continuation)
            return true
        }
        if !waits { continuation.resume(throwing: Self.cancellation(mayHaveHappened: false)) }
        return waits
    }

    /// Resumes the caller, unless it no longer waits.
    func end(_ result: Result<SubmissionReceipt, any Error>) {
        let continuation = state.withLock { state -> CheckedContinuation<SubmissionReceipt?, any Error>? in
            defer { state = .ended }
            return if case .waiting(let continuation) = state { continuation } else { nil }
        }
        continuation?.resume(with: result.map(Optional.some))
    }

    /// Ends the wait of a caller that is cancelled. A call may be under way that carries its submission.
    fileprivate func cancel() { end(.failure(Self.cancellation(mayHaveHappened: true))) }

    private static func cancellation(mayHaveHappened: Bool) -> LedgerError {
        LedgerError(.cancelled, during: "submit jobs", "the task was cancelled", mayHaveHappened: mayHaveHappened)
    }
}

/// Groups the submissions of one job that arrive while others are under way.
///
/// Each call costs the server a statement and a commit, which is as much as the job itself. So only a few calls are
/// under way at once. What arrives meanwhile waits for the first of them to end, and then shares a call.
final class SingleSubmissions: Sendable {
    private struct State {
        var calls = 0
        var waiting: [SingleSubmission] = []
    }

    /// The most submissions in one call.
    private static let most = 50

    private let state = Mutex(State())
    private let callLimit: Int

    /// `connections`: the size of the pool, which other operations use too.
    init(connections: Int) { callLimit = min(connections, max(2, connections / 4)) }

    /// Waits until another call has carried the submission, and returns its receipt. `nil`: the caller must make the
    /// call, and then call `next`.
    func enter(_ submission: SingleSubmission) async throws -> SubmissionReceipt? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isFree = state.withLock { state in
                    guard state.calls >= callLimit else {
                        state.calls += 1
                        return true
                    }
                    if submission.await(continuation) { state.waiting.append(submission) }
                    return false
                }
                if isFree { continuation.resume(returning: nil) }
            }
        } onCancel: {
            submission.cancel()
        }
    }

    /// A call has ended. Returns the submissions for the next one, all of one kind; none if no caller waits.
    func next() -> [SingleSubmission] {
        state.withLock { state in
            state.waiting.removeAll { !$0.isAwaited }
            guard let kind = state.waiting.first?.kind else {
                state.calls -= 1
                return []
            }
            var group: [SingleSubmission] = []
            var rest: [SingleSubmission] = []
            for submission in state.waiting {
                if submission.kind == kind, group.count < Self.most {
                    group.append(submission)
                } else {
                    rest.append(submission)
                }
            }
            state.waiting = rest
            return group
        }
    }
}
