import Conversion
import Publishing
import Storage

/// Removes outputs that must not be published.
struct Discarder: Sendable {
    let outputs: Channel<FinishedOutput>
    let storage: StorageHealth
    let onEvent: @Sendable (WorkerEvent) -> Void

    func run() async {
        while let group = await outputs.take(upTo: 1_000) {
            for output in group {
                guard let prepared = output.prepared else { continue }
                // One after the other for the same roots, and not before these answer.
                storage.files.leave(in: prepared.roots) { remove(output, prepared) }
            }
        }
    }

    /// Blocks.
    private func remove(_ output: FinishedOutput, _ prepared: PreparedJob) {
        prepared.discardNow()
        guard output.isLinked else { return }
        do throws(StorageError) {
            try storage.roots.roots.discard(output.attempt, of: prepared.locations)
        } catch {
            // The sweeper removes the file later: its fence is no longer valid.
            onEvent(.trouble(error.failure))
        }
    }
}

extension StorageRoots {
    /// Removes the files of an attempt as far as possible, then throws the last error. Blocks.
    func discard(_ attempt: AttemptName, of locations: [Location]) throws(StorageError) {
        var problem: StorageError?
        for location in locations {
            do throws(StorageError) { try discard(attempt, of: location) } catch { problem = error }
        }
        if let problem { throw problem }
    }
}
