import Conversion
import Foundation
import Ledger
import ObjectStorage
import ObjectStores
import TestSupport

/// A worker's lab with a store, whose bucket is the root `archive` of the lab's workers.
final class ObjectLab: Sendable {
    let lab: WorkerLab
    let store: StrictStore
    private let client: StoreClient

    init() async throws {
        lab = try await WorkerLab()
        store = try StrictStore()
        client = try store.client()
    }

    /// Starts a worker that has the root `archive` in addition.
    func worker(_ words: String..., secret: String = "secret") throws -> WorkerProcess {
        let path = "s3://bucket/pre?endpoint=http://127.0.0.1:\(store.port)"
        let roots = ["in", "out"].flatMap { ["--root", "\($0)=\(lab.path($0))"] } + ["--root", "archive=\(path)"]
        return try WorkerProcess(
            ["env", "AWS_ACCESS_KEY_ID=KEY", "AWS_SECRET_ACCESS_KEY=\(secret)"],
            ["worker"] + roots + words + ["--schema", lab.schema.text],
            url: lab.url,
            in: lab.folder
        )
    }

    func put(_ bytes: [UInt8], _ path: String) throws {
        _ = try client.put(.bytes(bytes), as: "pre/\(path)", condition: .none)
    }

    /// Adds the file `in:NAME` as the object `archive:NAME`.
    func putSource(_ name: String = "talk.wav") throws { try put(Bytes.read(lab.path("in/\(name)")), name) }

    /// Submits a conversion of `archive:NAME` with one attempt. Returns the job's number.
    func submit(_ name: String = "talk.wav", to destination: String = "out:object.flac") async throws -> Int64 {
        try await lab.submitOnce(WorkerLab.recipe("archive:\(name)", to: destination))
    }
}
