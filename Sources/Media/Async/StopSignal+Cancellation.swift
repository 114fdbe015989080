import Conversion

extension StopSignal {
    /// Runs `work`, and raises the signal if the task is or becomes cancelled.
    ///
    /// A cancelled task throws `CancellationError`, as usual in Swift. `FailureCode.cancelled` is for tasks
    /// whose signal was raised by other code.
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
