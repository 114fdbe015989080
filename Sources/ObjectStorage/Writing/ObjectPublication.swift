import System
package import WebClient

/// Makes a finished output an object, once, and finds out what has happened if the store does not say.
package struct ObjectPublication: Sendable {
    package enum Outcome: Sendable, Hashable {
        /// The object is there. `isAdopted`: the store's answer was lost, or an earlier process has published it.
        case published(etag: String, isAdopted: Bool)
        /// Another object has the key; it is left alone.
        case exists(ObjectFacts)
        /// The store has dropped the upload, or keeps refusing it, because of a request of another program: it must be made
        /// anew, with all its parts.
        case mustRestart
    }

    private let client: StoreClient
    private let stop: WebStop?
    private let wait: @Sendable (Duration) -> Void
    /// The most times that a store is asked to complete one upload that it fails to complete.
    private static let mostAttempts = 6

    /// `wait` blocks between two attempts.
    package init(
        _ client: StoreClient,
        stop: WebStop? = nil,
        wait: @escaping @Sendable (Duration) -> Void = BlockingPause.pause
    ) {
        (self.client, self.stop, self.wait) = (client, stop, wait)
    }

    /// Publishes `output` if `condition` holds. Throws if it is not known whether the object is there, or if the store
    /// refuses.
    ///
    /// May be repeated after a death of the process: an object with the marks of `output` in its metadata is the output.
    /// `isRepeated`: an earlier process may have asked the store for the same, and the store may still be at work on it.
    package func publish(
        _ output: FinishedOutput,
        condition: WriteCondition,
        isRepeated: Bool = false
    ) throws(StoreError) -> Outcome {
        var backOff = BackOff(first: .milliseconds(200), longest: .seconds(10))
        var attempt = 1
        var mayHaveHappened = isRepeated
        var hasConflict = false
        while true {
            do throws(StoreError) {
                return .published(etag: try make(output, condition), isAdopted: false)
            } catch {
                mayHaveHappened = mayHaveHappened || error.mayHaveHappened
                var error = error
                error.mayHaveHappened = mayHaveHappened
                switch error.kind {
                case .conditionFailed, .noSuchUpload, .noSuchObject:
                    // Completed by an attempt whose answer was lost, by an earlier process, or by another program.
                    if let outcome = try settled(output, condition) { return outcome }
                    // AWS drops the upload after a conflict.
                    guard error.kind == .noSuchUpload, hasConflict, !mayHaveHappened else { throw error }
                    return .mustRestart
                case .conflict:
                    // The other request may be an earlier attempt of ours that the store is still at work on. So the object is
                    // looked for after each refusal, and the upload is given up only if it cannot have been ours.
                    hasConflict = true
                    if let outcome = try settled(output, condition) { return outcome }
                    let isLast = attempt == Self.mostAttempts
                    if isLast, !mayHaveHappened, case .upload = output.bytes { return .mustRestart }
                case .unavailable where error.problem?.status == 200:
                    // The store has failed to put the parts together; it keeps them.
                    break
                case .unavailable where error.mayHaveHappened, .unexpectedAnswer:
                    // The client has tried often enough. What has happened, only the object tells.
                    guard let outcome = known(output, condition) else { throw error }
                    return outcome
                default: throw error
                }
                guard attempt < Self.mostAttempts else { throw error }
                attempt += 1
                wait(backOff.next())
            }
        }
    }

    private func make(_ output: FinishedOutput, _ condition: WriteCondition) throws(StoreError) -> String {
        switch output.bytes {
        case .small(let part):
            try client.put(
                .part(part),
                as: output.key,
                condition: condition,
                order: output.order,
                contentType: output.contentType,
                stop: stop
            )
        case .upload(let id, let parts):
            try client.complete(id, of: parts, to: output.key, condition: condition, stop: stop)
        }
    }

    /// What the object at the key says about `output`: it is the output, or another object; `nil` if there is none.
    private func outcome(of output: FinishedOutput) throws(StoreError) -> Outcome? {
        let found: ObjectFacts?
        do throws(StoreError) {
            found = try client.facts(of: output.key, stop: stop)
        } catch {
            // Without a look at the object, it is not known whether it is the output.
            var error = error
            error.mayHaveHappened = true
            throw error
        }
        guard let facts = found else { return nil }
        return output.isMade(facts) ? .published(etag: facts.etag, isAdopted: true) : .exists(facts)
    }

    /// The same, but `nil` also if another object is there that `condition` would let the output replace.
    private func settled(_ output: FinishedOutput, _ condition: WriteCondition) throws(StoreError) -> Outcome? {
        guard let outcome = try outcome(of: output) else { return nil }
        if case .exists(let facts) = outcome {
            switch condition {
            case .none: return nil
            case .absent: break
            case .matches(let etag): if facts.etag == etag { return nil }
            }
        }
        return outcome
    }

    /// The same, but `nil` also if the object cannot be looked at.
    private func known(_ output: FinishedOutput, _ condition: WriteCondition) -> Outcome? {
        do throws(StoreError) {
            return try settled(output, condition)
        } catch {
            // The error that led here says more.
            return nil
        }
    }
}
