import Conversion
import Ledger
import Publishing
import Storage
import System

/// Computes the digests of finished outputs while the slots go on converting.
struct Digester: Sendable {
    let shop: Workshop
    let files: BlockingQueue

    func run() async {
        while let job = await shop.converted.take(upTo: 1)?.first {
            let prepared = job.prepared
            let result = await files.run { Result { () throws(StorageError) in try prepared.fingerprint() } }
            switch result {
            case .success(let fingerprint):
                shop.outbox.put(JobEnding(fence: job.fence, kind: .output(prepared, fingerprint, job.facts)))
            case .failure(let error):
                prepared.discard()
                let failure = AttemptFailure(job.fence, error.failure, facts: job.facts)
                shop.outbox.put(JobEnding(fence: job.fence, kind: .failed(failure)))
            }
        }
    }
}
