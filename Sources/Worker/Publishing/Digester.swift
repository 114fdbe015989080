import Conversion
import Ledger
import Publishing
import Storage
import System
import WorkerRules

/// Computes the digests of finished outputs while the slots go on converting.
struct Digester: Sendable {
    let jobs: Channel<FinishedOutput>
    let outputs: FinishedOutputs
    let dispatcher: Dispatcher
    let storage: StorageHealth

    func run() async {
        while let output = await jobs.take(upTo: 1)?.first {
            guard let prepared = output.prepared else { continue }
            let fence = output.fence
            let result = await storage.files.run(in: prepared.roots) {
                Result { () throws(StorageError) in try prepared.fingerprints() }
            }
            switch result {
            case nil: dispatcher.report(.digested(fence, .handedBack(storage.givenUp(prepared.roots))))
            case .success(let fingerprints):
                outputs.change(fence) { $0.fingerprints = fingerprints }
                dispatcher.report(.digested(fence, nil))
            case .failure(let error):
                let report = AttemptFailure(fence, error.failure, facts: output.facts)
                dispatcher.report(.digested(fence, .failed(report)))
            }
        }
    }
}
