import Foundation
import Ledger
import TestSupport
import Testing

/// A dry run with a tenant's token says what the real run would say.
struct TenantDryRunTests {
    @Test func limitsOfTheTenantRefuseADryRunToo() async throws {
        let remote = try RemoteBench()
        let bench = remote.bench
        try bench.run("tenants", "create", "radio").checked()
        try bench.run(
            ["tenants", "limit", "radio", "--top-priority", "5", "--max-attempts", "2", "--writes", "local:out/"]
                + ["--waiting-jobs", "1", "--max-outputs", "1"]
        ).checked()
        let made = try bench.output("tokens", "create", "--role", "submitter", "--name", "ci", "--tenant", "radio")
        let token = made.trimmingCharacters(in: .whitespacesAndNewlines)
        let url = try remote.serve(at: "socket")
        try bench.files("a.wav", "b.wav")
        func submit(_ words: [String], _ more: String...) throws -> Run {
            try remote.run(["submit"] + words + more, at: url, environment: ["SLUICE_TOKEN": token])
        }
        let one = ["a.wav", "--to", "local:out/{stem}.mp3"]
        for (words, status) in [
            (one + ["--priority", "6"], Int32(6)), (["a.wav", "--to", "local:in/{stem}.mp3"], 6),
            (one + ["--max-attempts", "3"], 6), (one + ["--also", "local:out/{stem}.flac"], 6), (one + ["b.wav"], 1),
        ] {
            let (dry, real) = (try submit(words, "--dry-run"), try submit(words))
            #expect(real.status == .exited(status), "\(words): \(real.errorText)")
            #expect(dry.status == real.status, "\(words): \(dry.errorText)")
            #expect(dry.errorText == real.errorText)
        }
        #expect(try submit(one, "--dry-run").checked().outputText.contains("1 job in queue default"))
        try bench.run("tenants", "limit", "radio", "--destination", "local:out/{tenant}/{stem}.mp3").checked()
        let (dry, real) = (try submit(one, "--dry-run"), try submit(one))
        #expect(dry.status == real.status && real.status != .exited(0))
        for run in [dry, real] {
            #expect(run.errorText.contains("must begin with local:out/radio/"), "\(run.errorText)")
        }
        #expect(try await bench.ledger.batches().isEmpty)
    }
}
