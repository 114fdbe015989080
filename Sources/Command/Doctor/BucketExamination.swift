import Console
import Conversion
import Glibc
import ObjectStorage
import Storage
import System
import Worker

/// Examines roots that are buckets. Workers read sources there.
struct BucketExamination: Sendable {
    let environment: [String: String]
    /// The folder of the user as which this process examines; `nil` for that of the environment.
    let home: String?
    /// Whether the user names the buckets for this command. Nothing is written to others: a context or a settings file may name
    /// them for workers, whose credentials need no right to write.
    let areNamed: Bool

    private static let threads = BlockingThreads("bucket")
    /// For each request with all its attempts.
    private static let patience: StoreClient.Patience = {
        var patience = StoreClient.Patience()
        patience.attempts = 3
        patience.deadline = .seconds(20)
        return patience
    }()

    func findings(of root: WorkerConfiguration.RootPlace) async -> [Finding] {
        // From here on this process holds credentials, as services do.
        ResourceLimit.forbidCoreDumps()
        return await withCheckedContinuation { continuation in
            Self.threads.run { continuation.resume(returning: self.examine(root)) }
        }
    }

    private func examine(_ root: WorkerConfiguration.RootPlace) -> [Finding] {
        let subject = "root \(root.name)".printable
        let unused = Finding.warn(
            subject,
            "jobs read from buckets and cannot write to them yet",
            "give workers a folder for outputs, too; with :ro, doctor only reads from the bucket"
        )
        do {
            let address = try BucketAddress(root.path)
            let places = CredentialPlaces(environment: environment, home: home, profile: address.options.profile)
            let client = StoreClient(
                address,
                region: try places.region(),
                credentials: CredentialProvider(places),
                patience: Self.patience
            )
            let mayWrite = areNamed && root.rules.mayWrite
            let report = StoreExamination(client, mayWrite: mayWrite).run()
            let verdict = report.verdict.map { [Self.finding(subject, $0)] } ?? []
            return report.lines.map { Self.finding(subject, $0) } + verdict
                + (mayWrite ? [unused] : [])
        } catch let error as AddressError {
            return [.fail(subject, error.why.printable, (error.hint ?? "correct the address").printable)]
        } catch let error as CredentialError {
            return [.fail(subject, error.why.printable, (error.hint ?? "correct the configuration").printable)]
        } catch {
            return [.fail(subject, "\(error)".printable, "correct the address")]
        }
    }

    static func finding(_ subject: String, _ line: StoreExamination.Line) -> Finding {
        let text = line.text.printable
        let hint = line.hint?.printable
        return switch line.level {
        case .good: .ok(subject, text)
        case .notice: .warn(subject, text, hint ?? "the last lines about this root say what it means")
        case .failure: .fail(subject, text, hint ?? "check the address, the credentials and the policy of the bucket")
        }
    }

    private static func finding(_ subject: String, _ verdict: StoreExamination.Verdict) -> Finding {
        let text = "conditional writes are \(verdict.rawValue): \(verdict.meaning)"
        return verdict == .exact
            ? .ok(subject, text)
            : .warn(subject, text, "a store that honours If-None-Match keeps outputs apart by itself")
    }
}
