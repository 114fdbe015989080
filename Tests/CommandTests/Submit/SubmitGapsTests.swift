import Foundation
import Ledger
import TestSupport
import Testing

/// `submit` says at once that no running worker can do a job.
struct SubmitGapsTests {
    let bench: LedgerBench

    init() throws {
        bench = try LedgerBench()
        try bench.files("in/a.wav")
    }

    private func submit(_ words: String...) throws -> Run {
        try bench.run(["submit", "-r", "in", "--again", "--to", "out/{stem}.mp3"] + words).checked()
    }

    @Test func namesTheRootAndTheRootsOfTheWorkers() async throws {
        _ = try await bench.worker("pump-1", abilities: ["root:in", "codec:mp3"])
        _ = try await bench.worker("pump-2", abilities: ["root:archive", "codec:flac"])
        let note =
            "note:  no running worker has root local: these jobs wait; the running workers have roots archive, in; "
            + "start a worker with \"sluice worker --root local=/\", or see \"sluice workers\"\n"
        #expect(try submit().errorText == note)
        #expect(try submit("--dry-run").errorText == note)
        let record = try #require(try bench.records("submit", "-r", "in", "--again", "--to", "out/{stem}.mp3").first)
        let unable = try #require(record["unable"] as? [[String: [String]]])
        #expect(unable == [["missing": ["root:local"], "needs": ["codec:mp3", "root:local"]]])
    }

    @Test func namesTheCodec() async throws {
        _ = try await bench.worker(abilities: ["root:local"])
        #expect(
            try submit().errorText == "note:  no running worker has codec mp3: these jobs wait; start a worker with "
                + "\"sluice worker --root local=/\", or see \"sluice workers\"\n"
        )
    }

    @Test func needsThatNoSingleWorkerHasAreNamedTogether() async throws {
        _ = try await bench.worker("pump-1", abilities: ["root:local"])
        _ = try await bench.worker("pump-2", abilities: ["codec:mp3"])
        #expect(
            try submit().errorText.hasPrefix(
                "note:  no running worker has all of codec mp3 and root local: these jobs wait"
            )
        )
    }

    @Test func aSuitableWorkerIsNotMentioned() async throws {
        _ = try await bench.worker(abilities: ["root:local", "codec:mp3"])
        let run = try submit("--json")
        #expect(run.errorText.isEmpty && !run.outputText.contains("unable"))
    }

    @Test func lostWorkersDoNotCount() async throws {
        _ = try await bench.worker(abilities: ["root:local", "codec:mp3"])
        // Longer than its lease.
        try bench.age(seconds: 86_400)
        let note = "note:  no workers are running: the jobs wait; start one with \"sluice worker --root local=/\"\n"
        #expect(try submit().errorText == note)
        // Until the submission, workers may be started.
        #expect(try submit("--dry-run").errorText.isEmpty)
    }

    @Test func saysTheSameOverHTTP() async throws {
        _ = try await bench.worker(abilities: ["root:in", "codec:mp3"])
        let remote = RemoteBench(bench)
        let url = try remote.serve("--open-role", "submitter", at: "http")
        let words = ["submit", "far:a.wav", "--to", "far:{stem}.mp3", "--again"]
        let run = try remote.run(words, at: url).checked()
        let note = "note:  no running worker has root far: these jobs wait; the running workers have root in;"
        #expect(run.errorText.hasPrefix(note))
        #expect(try bench.run(words).checked().errorText == run.errorText)
    }

    @Test func aTenantLearnsOfItsJobsOnly() async throws {
        _ = try await bench.worker(abilities: ["root:in", "codec:mp3"])
        try bench.run("tenants", "create", "radio").checked()
        let made = try bench.output("tokens", "create", "--role", "submitter", "--name", "ci", "--tenant", "radio")
        let token = made.trimmingCharacters(in: .whitespacesAndNewlines)
        let remote = RemoteBench(bench)
        let url = try remote.serve(at: "http")
        func submit(_ source: String) throws -> String {
            let words = ["submit", source, "--to", "in:{dir}/{stem}.mp3", "--again"]
            return try remote.run(words, at: url, environment: ["SLUICE_TOKEN": token]).checked().errorText
        }
        #expect(try submit("far:a.wav") == "note:  no running worker has root far: these jobs wait; ask an operator\n")
        // Those jobs need the same and more.
        #expect(try submit("in:b.wav").isEmpty)
    }
}
