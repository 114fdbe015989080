import Conversion
import Publishing
import Storage
import System

/// Removes outputs that must not be published.
struct Discarder: Sendable {
    let outputs: Channel<FinishedOutput>
    let roots: RootKeeper
    let tell: @Sendable (WorkerEvent) -> Void
    private let files = BlockingQueue("discarding")

    init(_ outputs: Channel<FinishedOutput>, _ roots: RootKeeper, tell: @escaping @Sendable (WorkerEvent) -> Void) {
        (self.outputs, self.roots, self.tell) = (outputs, roots, tell)
    }

    func run() async {
        while let group = await outputs.take(upTo: 1_000) { await remove(group) }
    }

    private func remove(_ group: [FinishedOutput]) async {
        let roots = roots.roots
        let problem = await files.run { () -> StorageError? in
            var problem: StorageError?
            for output in group {
                guard let prepared = output.prepared else { continue }
                prepared.discard()
                guard output.isLinked else { continue }
                for location in prepared.locations {
                    do throws(StorageError) {
                        try roots.discard(output.attempt, of: location)
                    } catch {
                        problem = error
                    }
                }
            }
            return problem
        }
        // The sweeper removes the file later: its fence is no longer valid.
        if let problem { tell(.trouble(problem.failure)) }
    }
}
