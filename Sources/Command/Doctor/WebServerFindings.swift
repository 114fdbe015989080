import Console
import ObjectStorage
import System
import Worker

/// Examines roots on web servers. Workers read sources there.
enum WebServerFindings {
    private static let threads = BlockingThreads("web server")
    private static let patience: StoreClient.Patience = {
        var patience = StoreClient.Patience()
        patience.deadline = .seconds(20)
        patience.silenceLimit = .seconds(10)
        return patience
    }()

    static func findings(of root: WorkerConfiguration.RootPlace) async -> [Finding] {
        await withCheckedContinuation { continuation in
            Self.threads.run { continuation.resume(returning: examine(root)) }
        }
    }

    private static func examine(_ root: WorkerConfiguration.RootPlace) -> [Finding] {
        let subject = "root \(root.name)".printable
        do throws(AddressError) {
            let server = WebServer(try WebAddress(root.path), patience: patience)
            return WebServerExamination(server).run().map { BucketExamination.finding(subject, $0) }
        } catch {
            return [.fail(subject, error.why.printable, (error.hint ?? "correct the address").printable)]
        }
    }
}
