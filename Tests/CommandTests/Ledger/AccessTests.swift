import Foundation
import Ledger
import TestSupport
import Testing

/// `tokens`, `tenants` and `audit`.
struct AccessTests {
    @Test func aTokenIsPrintedOnceAloneAndWorks() async throws {
        let bench = try LedgerBench()
        #expect(try bench.run("tokens").checked().errorText.hasPrefix("no tokens; "))
        let made = try bench.run("tokens", "create", "--role", "submitter", "--name", "ci", "--expires", "30d")
            .checked()
        let token = try AccessToken(made.outputText.trimmingCharacters(in: .newlines))
        #expect(made.outputText == token.text + "\n" && !made.errorText.contains("slt_"))
        let found = try #require(try await bench.ledger.find(token))
        #expect(found.state == .valid && found.role == .submitter && found.expiresAt != nil)
        #expect(try bench.output("tokens", "-q") == "1\n")
        let lines = try bench.output("tokens").split(separator: "\n").map { $0.split(separator: " ") }
        #expect(lines[0].prefix(3) == ["ID", "NAME", "ROLE"] && lines[1].prefix(3) == ["1", "ci", "submitter"])
        try Golden.expect(Golden.maskedLedger(bench.output("tokens", "--json")), is: "tokens.jsonl")

        let object = try bench.output("tokens", "create", "--role", "viewer", "--name", "eyes", "--json")
        #expect(object.hasPrefix(#"{"name":"eyes","role":"viewer","token":"slt_"#))
        let taken = try bench.run("tokens", "create", "--role", "viewer", "--name", "ci")
        #expect(taken.status != .exited(0) && taken.errorText.contains("there is a token \"ci\""))

        let wrong = try bench.run("tokens", "revoke", "eyes", "nobody")
        #expect(wrong.status == .exited(4) && wrong.errorText.hasPrefix("error: no such token \"nobody\"\n"))
        #expect(try await bench.ledger.tokens().count == 2)
        #expect(try bench.output("tokens", "revoke", "ci").contains(" revoked "))
        #expect(try await bench.ledger.find(token)?.state == .revoked)
        #expect(try bench.output("tokens", "-q") == "2\n")
        #expect(try bench.output("tokens", "--ended", "-q") == "1\n2\n")
    }

    @Test func whatATokenNeedsIsAskedFor() throws {
        let bench = try LedgerBench()
        for words in [
            ["--name", "a"], ["--role", "viewer"], ["--role", "owner", "--name", "a"],
            ["--role", "operator", "--name", "a", "--tenant", "radio"],
            ["--role", "viewer", "--name", "a", "--expires", "soon"],
        ] {
            #expect(try bench.run(["tokens", "create"] + words).status == .exited(2), "\(words)")
        }
        let missing = try bench.run("tokens", "create", "--role", "viewer", "--name", "a", "--tenant", "radio")
        #expect(missing.errorText.contains("there is no tenant \"radio\""))
        #expect(try bench.output("tokens", "-q").isEmpty)
    }

    @Test func tenantsAreCreatedAndListed() throws {
        let bench = try LedgerBench()
        #expect(try bench.run("tenants").checked().errorText.hasPrefix("no tenants; "))
        #expect(try bench.run("tenants", "create", "radio").checked().outputText.isEmpty)
        #expect(try bench.run("tenants", "create", "radio").status == .exited(1))
        _ = try bench.output("tokens", "create", "--role", "viewer", "--name", "a", "--tenant", "radio")
        let row = try bench.output("tenants").split(separator: "\n")[1].split(separator: " ")
        #expect(row.prefix(2) == ["radio", "1"])
        #expect(try bench.output("tenants", "-q") == "radio\n")
        let limited = try bench.output(
            "tenants",
            "limit",
            "radio",
            "--waiting-jobs",
            "500",
            "--top-priority",
            "-1",
            "--reads",
            "in:radio/",
            "--reads",
            "archive:",
            "--writes",
            "out:radio/"
        )
        #expect(limited.contains("  500  ") && limited.contains("in:radio/ archive:"))
        for place in ["in:rad", "in", "in:/radio/", ":radio/", ""] {
            let refusal = try bench.run("tenants", "limit", "radio", "--writes", place)
            #expect(refusal.status != .exited(0), "\(place)")
        }
        _ = try bench.output("tenants", "limit", "radio", "--top-priority", "none", "--max-attempts", "2")
        #expect(try bench.run("tenants", "limit", "tv", "--max-attempts", "2").status == .exited(4))
        #expect(try bench.run("tenants", "limit", "radio", "--max-attempts", "0").status == .exited(2))
        _ = try bench.output(
            "tenants",
            "limit",
            "radio",
            "--cpu-minutes",
            "6000",
            "--output-bytes",
            "500GiB",
            "--destination",
            "out:{tenant}/{stem}.{ext}",
            "--job-time",
            "2h"
        )
        for wrong in [
            ["--cpu-minutes", "0"], ["--output-bytes", "0"], ["--destination", "out:x"], ["--job-time", "0s"],
            ["--destination", "out:../{stem}"],
        ] {
            #expect(try bench.run(["tenants", "limit", "radio"] + wrong).status == .exited(2), "\(wrong)")
        }
        try Golden.expect(Golden.maskedLedger(bench.output("tenants", "--json")), is: "tenants.jsonl")
    }

    @Test func theAuditShowsWhoChangedWhat() async throws {
        let bench = try LedgerBench()
        #expect(try bench.run("audit").checked().errorText == "no changes\n")
        try await bench.submit(3)
        _ = try bench.output("cancel", "--batch", "1", "--yes")
        _ = try bench.output("queues", "pause", "default")
        _ = try bench.output("tokens", "create", "--role", "viewer", "--name", "eyes")
        let lines = try bench.output("audit").split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        #expect(lines[0] == ["ID", "WHEN", "WHO", "TENANT", "WHAT", "CHANGED", "DETAILS"])
        #expect(lines[1].contains("create_token") && lines[2].contains("pause_queue"))
        #expect(lines[3].contains("cancel_jobs") && lines[3].contains("3"))
        try Golden.expect(Golden.maskedLedger(bench.output("audit", "--json")), is: "audit.jsonl")
        let page = try bench.run("audit", "--limit", "1", "-q").checked()
        #expect(page.outputText == "3\n")
        #expect(try bench.run("audit", "--limit", "1").checked().errorText == "more: sluice audit --before 3\n")
        #expect(try bench.output("audit", "--before", "3", "-q") == "2\n1\n")
        try bench.age(seconds: 7_200)
        #expect(try bench.output("audit", "--since", "1h", "-q").isEmpty)
        #expect(try bench.output("audit", "--by", "nobody", "-q").isEmpty)
    }
}
