import Foundation
import Ledger
import TestSupport
import Testing

/// Answers of the ledger that are lost on the network.
struct LostAnswerTests {
    @Test(arguments: ["claim(", "publish(", "finish("], [DroppingProxy.Loss.answer, .race])
    func jobsAreDoneOnceThoughAnAnswerWasLost(call: String, loss: DroppingProxy.Loss) async throws {
        let lab = try await WorkerLab(lease: "60 s")
        try lab.addSource()
        let proxy = try DroppingProxy(before: lab.server)
        defer { proxy.close() }
        try await lab.submit(30)
        proxy.lose(loss, ofNext: ".\(call)")
        let roots = ["in", "out"].flatMap { ["--root", "\($0)=\(lab.path($0))"] }
        let worker = try WorkerProcess(
            [],
            ["worker"] + roots + ["--schema", lab.schema.text],
            url: proxy.url(database: lab.database),
            in: lab.folder
        )
        try await lab.wait(for: 30, "completed")
        try await worker.stopsWell()
        #expect(proxy.losses == 1)
        #expect(try lab.attempts() == ["completed": 30])
        #expect(try lab.outputs().count == 30, "no hidden file is left")
    }
}
