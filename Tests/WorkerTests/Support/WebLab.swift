import Conversion
import Foundation
import Ledger
import ObjectStores
import TestSupport

/// A worker's lab with a web server, whose folder `/pre` is the root `web` of the lab's workers.
final class WebLab: Sendable {
    let lab: WorkerLab
    let stub: WebStub

    /// With `certificate`, the server is asked by TLS.
    init(certificate: String? = nil) async throws {
        lab = try await WorkerLab()
        stub = try WebStub(certificate: certificate)
    }

    /// Starts a worker that has the root `web` in addition.
    func worker(root: String? = nil, _ words: String...) throws -> WorkerProcess {
        let folders = ["in", "out"].flatMap { ["--root", "\($0)=\(lab.path($0))"] }
        return try WorkerProcess(
            [],
            ["worker"] + folders + ["--root", "web=\(root ?? stub.root())"] + words + ["--schema", lab.schema.text],
            url: lab.url,
            in: lab.folder
        )
    }

    /// The file `in:NAME` as the server has it.
    func entry(_ name: String = "talk.wav", _ change: (inout WebStub.Entry) -> Void = { _ in }) -> WebStub.Entry {
        var entry = WebStub.Entry(file: lab.path("in/\(name)"))
        change(&entry)
        return entry
    }

    /// Submits a conversion of `web:NAME` with one attempt. Returns the job's number.
    func submit(_ name: String = "talk.wav", to destination: String = "out:web.flac") async throws -> Int64 {
        try await lab.submitOnce(WorkerLab.recipe("web:\(name)", to: destination))
    }
}
