extension StopSignal {
    /// Does `work`, and raises the signal when the task is cancelled meanwhile or was before.
    ///
    /// A cancelled task gets `CancellationError`, as from everything in Swift. `MediaError.Code.cancelled` is left for
    /// tasks whose signal was raised by other code.
    func raisedByCancellation<Result>(
        isolation: isolated (any Actor)? = #isolation,
        _ work: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await withTaskCancellationHandler(operation: work, onCancel: { stop() }, isolation: isolation)
        } catch let error as MediaError where error.code == .cancelled {
            try Task.checkCancellation()
            throw error
        }
    }
}
