import Foundation
import TestSupport
import Testing

@testable import API
@testable import Command
@testable import Console
@testable import Ledger

/// The user documentation matches the program.
struct DocumentationTests {
    private static let guide = "command.md"
    private static let page = "command-reference.md"

    /// A shell command and the output of both its streams, as the page shows it.
    private struct Example {
        let line: String
        var answer = ""
    }

    /// The examples in ```console blocks: each command follows "$ ", and the lines up to the next one are its output.
    private static func examples(in text: String) -> [Example] {
        var examples: [Example] = []
        var isInside = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                isInside = line == "```console"
            } else if isInside, line.hasPrefix("$ ") {
                examples.append(Example(line: String(line.dropFirst(2))))
            } else if isInside {
                examples[examples.count - 1].answer += line + "\n"
            }
        }
        return examples
    }

    /// `text` with everything masked that differs from run to run: durations, speeds, moments, addresses and
    /// progress lines.
    private static func masked(_ text: String) -> String {
        text.replacing(#/([a-z_]+=[^\n]*\n)+progress=continue\n/#) { _ in "" }
            .replacing(#/\{"frames":[0-9]+,"positionSeconds"[^\n]*"state":"running"[^\n]*\}\n/#) { _ in "" }
            .replacing(#/"seconds":[0-9.e+-]+/#) { _ in "\"seconds\":T" }
            .replacing(#/[0-9.]+ s \([0-9.,]+x\)/#) { _ in "T" }
            .replacing(#/speed=[0-9.]+/#) { _ in "speed=V" }
            .replacing(#/"speed":[0-9.e+-]+/#) { _ in "\"speed\":V" }
            .replacing(#/just now|[0-9]+ s ago/#) { _ in "AGO" }
            .replacing(#/[0-9]+ [A-Z][a-z]{2} [0-9]{2}:[0-9]{2}/#) { _ in "MOMENT" }
            .replacing(#/since [0-9]+ s|oldest [0-9]+ s/#) { _ in "SINCE" }
            .replacing(#/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/#) { _ in "TIME" }
            .replacing(#/postgres [0-9.]+ at /#) { _ in "postgres VERSION at " }
            .replacing(#/postgresql:[^,]*,/#) { _ in "ADDRESS," }
            .replacing(#/request:[0-9a-f]+/#) { _ in "request:DIGEST" }
            .replacing(#/ +\n/#) { _ in "\n" }
    }

    @Test(arguments: [guide, page, "editing.md", "recipe.md"]) func examplesDoWhatThePageSays(name: String) throws {
        let material = try Material()
        let ledger = try LedgerBench()
        try Bytes.write(Bytes.read(material.path("talk.wav")), to: material.path("intro.wav"))
        try #require(symlink(Sluice.path, material.path("sluice")) == 0)
        let text = String(decoding: try Bytes.read(Documentation.path(name)), as: UTF8.self)
        if name == "editing.md" {
            for (recipe, name) in zip(Documentation.blocks("json", in: text), ["show.json", "jingle.json"]) {
                try Bytes.write(Array(recipe.utf8), to: material.path(name))
            }
        }
        let examples = Self.examples(in: text)
        try #require(examples.count > (name == Self.guide ? 10 : 1))
        for example in examples {
            // Both streams go to one pipe, which mostly gives the order that a terminal shows.
            let line = "PATH=$PWD:$PATH; { \(example.line); } 2>&1"
            let run = try Sluice.shell(line, in: material.folder, environment: ledger.environment)
            let (said, promised) = (Self.masked(run.outputText), Self.masked(example.answer))
            #expect(said == promised, "\(example.line)")
        }
    }

    @Test func everyVariableIsListed() throws {
        let text = String(decoding: try Bytes.read(Documentation.path(Self.page)), as: UTF8.self)
        for option in CatalogueTests.paths.flatMap(\.last!.options) {
            guard let variable = option.environment else { continue }
            #expect(text.contains("| `\(variable)` | `\(option.word)` |"))
        }
    }

    @Test func everyStyleOfProgressIsListed() throws {
        let text = String(decoding: try Bytes.read(Documentation.path(Self.page)), as: UTF8.self)
        for style in ProgressStyle.allCases { #expect(text.contains("| `\(style.rawValue)` | ")) }
    }

    @Test func everyNameOfARecordIsExplained() throws {
        let text = String(decoding: try Bytes.read(Documentation.path(Self.page)), as: UTF8.self)
        let words = Set(text.split { !$0.isLetter }.map(String.init))
        for name in [
            "convert.jsonl", "failures.jsonl", "damage.jsonl", "probe.jsonl", "jobs.jsonl", "stories.jsonl",
            "batches.jsonl",
            "queues.jsonl", "workers.jsonl", "changes.jsonl", "submit.jsonl", "config.jsonl",
        ] {
            let lines = String(decoding: try Bytes.read(Golden.folder.appendingPathComponent(name).path), as: UTF8.self)
            for line in lines.split(separator: "\n") {
                for key in Self.keys(in: try JSONSerialization.jsonObject(with: Data(line.utf8))) {
                    #expect(words.contains(key), "\(name): \(key)")
                }
            }
        }
    }

    /// The tables of records have the members that the records declare, and no others.
    @Test(arguments: [
        ("| `jobs`, `job` |", names(JobSummary.self)), ("| `batches`, `wait --batch` |", names(BatchSummary.self)),
        ("| `queues` |", names(QueueSummary.self)), ("| `workers` |", names(WorkerRecord.self)),
        ("| `errors` |", names(FailureGroup.self)), ("| `changes` |", names(BulkChange.self)),
        // Only the API gives a part of a change, and says where it continues.
        ("| `retry`, `cancel`, `prioritize`, `accept` |", names(ChangeRecord.self).subtracting(["next"])),
        ("| `tokens`, `tenants` |", names(TokenRecord.self).union(names(AdministeredTenant.self)).union(["token"])),
        ("| `webhooks` |", names(Webhook.self).union(names(CreatedWebhook.self))),
        ("| `webhooks deliveries` |", names(WebhookDelivery.self)), ("| `audit` |", names(AuditRecord.self)),
    ])
    func tableHasTheMembersOfTheRecord(heading: String, members: Set<String>) throws {
        let text = String(decoding: try Bytes.read(Documentation.path(Self.page)), as: UTF8.self)
        let start = try #require(text.range(of: heading))
        let rows = text[start.upperBound...].split(separator: "\n", omittingEmptySubsequences: false).dropFirst(2)
            .prefix { $0.hasPrefix("|") }
        let shown = Set(rows.flatMap { $0.split(separator: "|")[0].matches(of: #/`(\w+)`/#).map { String($0.1) } })
        #expect(shown == members)
    }

    private static func names(_ record: (some DeclaredRecord).Type) -> Set<String> {
        Set(record.descriptions.map(\.name))
    }

    @Test func everyNameOfAVerdictIsExplained() throws {
        let text = String(decoding: try Bytes.read(Documentation.path(Self.page)), as: UTF8.self)
        let words = Set(text.split { !$0.isLetter }.map(String.init))
        let line = try Bytes.read(Golden.folder.appendingPathComponent("spec.jsonl").path)
        let record = try #require(try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any])
        let description = try #require(record["description"] as? [String: Any])
        for part in [record["verdict"], description["levels"]] {
            for key in Self.keys(in: try #require(part)) { #expect(words.contains(key), "\(key)") }
        }
    }

    @Test func everyNameOfALoudnessIsExplained() throws {
        let text = String(decoding: try Bytes.read(Documentation.path("loudness.md")), as: UTF8.self)
        let words = Set(text.split { !$0.isLetter }.map(String.init))
        let lines = try Bytes.read(Golden.folder.appendingPathComponent("loudness.jsonl").path)
        for line in String(decoding: lines, as: UTF8.self).split(separator: "\n") {
            let record = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            let parts = ["description", "conversion"].compactMap { record?[$0] as? [String: Any] }
            for part in parts {
                for key in Self.keys(in: try #require(part["loudness"])) { #expect(words.contains(key), "\(key)") }
            }
        }
    }

    private static func keys(in value: Any) -> Set<String> {
        switch value {
        case let object as [String: Any]:
            object.reduce(into: Set(object.keys)) { $0.formUnion(keys(in: $1.value)) }
        case let list as [Any]: list.reduce(into: []) { $0.formUnion(keys(in: $1)) }
        default: []
        }
    }
}
