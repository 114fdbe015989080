import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// Untrusted text that passes through a worker: names and tags of files, libav's messages about them, and a room's
/// last words. In the log, in the ledger's records and in the output of commands, it must stay plain text.
@Suite(.timeLimit(.minutes(15))) struct UntrustedTextTests {
    /// Colours, a window title, 8-bit forms of both, reversed text direction, a forged line, and line separators.
    private static let poison =
        "\u{1B}[31mred\u{1B}]0;owned\u{7}\u{9B}31m\u{202E}cod\n{\"event\":\"forged\"}\r\u{85}\u{2028}end"

    /// The characters that no line may contain, other than its end.
    private func foul(_ text: String) -> [Unicode.Scalar] {
        text.unicodeScalars.filter { scalar in
            switch scalar.value {
            case 0x0A: false
            case ..<0x20, 0x7F...0x9F, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069, 0x061C: true
            default: false
            }
        }
    }

    private func lab() async throws -> (WorkerLab, worker: WorkerProcess) {
        let lab = try await WorkerLab()
        try lab.addSource()
        // Tags in the file, some of them far too long, and a damaged container about which libav reports a lot.
        let tags = ["title=\(Self.poison)", "artist=\(String(repeating: Self.poison, count: 200))", "\(Self.poison)=x"]
        try FFmpeg.encode(lab.path("in/talk.wav"), to: lab.path("in/tagged.mka"), tags.flatMap { ["-metadata", $0] })
        var broken = try Bytes.read(lab.path("in/tagged.mka"))
        for place in stride(from: broken.count / 3, to: broken.count, by: 7) { broken[place] ^= 0x5A }
        try Bytes.write(broken, to: lab.path("in/broken.mka"))
        try Bytes.write(Array("\(Self.poison)".utf8), to: lab.path("in/text.wav"))
        try Poison.segmentationFault.write(to: lab.path("in/poison.wav"))
        var tagged = WorkerLab.recipe("in:tagged.mka", to: "out:tagged.flac")
        tagged.tags = ["comment": .init(Self.poison), "grouping": .init(String(repeating: Self.poison, count: 50))]
        try await lab.submit([
            tagged,
            WorkerLab.recipe("in:tagged.mka", to: "out:lost.w64"),
            WorkerLab.recipe("in:broken.mka", to: "out:broken.flac"),
            WorkerLab.recipe("in:text.wav", to: "out:text.flac"),
            WorkerLab.recipe("in:poison.wav", to: "out:poison.flac"),
            WorkerLab.recipe("in:gone \(Self.poison).wav", to: "out:gone.flac"),
            WorkerLab.recipe("in:talk.wav", to: "out:\(Self.poison).flac"),
            WorkerLab.recipe("in:\(String(repeating: "ü", count: 120)).wav", to: "out:long.flac"),
        ])
        let worker = try lab.worker("--slots", "1", program: WorkerProcess.poisoned)
        try await lab.wait("all have ended", within: .seconds(600)) {
            try lab.truth().values.reduce(0, +) == ended(lab)
        }
        try await worker.stopsWell()
        return (lab, worker)
    }

    private func ended(_ lab: WorkerLab) throws -> Int {
        let truth = try lab.truth()
        return truth["completed", default: 0] + truth["failed", default: 0]
    }

    @Test func strangersTextIsTextInLogLedgerAndPages() async throws {
        let (lab, worker) = try await lab()
        #expect(try lab.attempts().keys.contains("failed room_crash"))

        // The log: one object on each line, none of them forged, none of them too long.
        let lines = worker.text.split(separator: "\n", omittingEmptySubsequences: true)
        #expect(foul(worker.text).isEmpty, "\(worker.text.debugDescription)")
        for line in lines {
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            #expect(object?["event"] is String && object?["event"] as? String != "forged", "\(line)")
            #expect(line.utf8.count < 20_000)
        }
        #expect(worker.lines("attempt").count >= 9)

        // The ledger's records: requests are stored as submitted, and the records of attempts
        // contain no control characters.
        let columns = [
            "code", "class::text", "stage", "message", "libav_name", "libav_text", "hint", "last_words", "report::text",
        ]
        for column in columns {
            try #require(try hasColumn(column, in: lab), "\(column)")
            let acting = try lab.sql(
                "select count(*) from \(lab.schema).attempt where \(column) ~ '[\\x01-\\x09\\x0b-\\x1f\\x7f-\\x9f\\u2028-\\u202e]'"
            )
            #expect(acting == "0", "\(column)")
            let longest = try lab.sql("select coalesce(max(octet_length(\(column))), 0) from \(lab.schema).attempt")
            #expect(try #require(Int(longest)) < 100_000, "\(column)")
        }

        // The output of commands, both for people and as JSON.
        let jobs = try lab.sql("select id from \(lab.schema).job order by id").split(separator: "\n").map(String.init)
        let pages = [
            ["jobs"], ["jobs", "--json"], ["errors"], ["errors", "--json"], ["batches"], ["status"], ["workers"],
        ]
        for words in pages + jobs.flatMap({ [["job", $0], ["job", $0, "--json"]] }) {
            let run = try Run.program(
                WorkerProcess.program,
                words + ["--schema", lab.schema.text],
                environment: [
                    "PATH": "/usr/bin:/bin", "HOME": lab.folder.path, "LANG": "C.UTF-8",
                    "SLUICE_DATABASE_URL": lab.url,
                ]
            )
            #expect(run.succeeded, "\(words): \(run.errorText)")
            #expect(foul(run.outputText + run.errorText).isEmpty, "\(words): \(run.outputText.debugDescription)")
            #expect(!run.outputText.split(separator: "\n").contains { $0.hasPrefix("{\"event\"") }, "\(words)")
            guard words.contains("--json") else { continue }
            for line in run.outputText.split(separator: "\n") {
                #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(line.utf8)) }
            }
        }
    }

    private func hasColumn(_ column: String, in lab: WorkerLab) throws -> Bool {
        let name = column.split(separator: ":")[0]
        return try lab.sql(
            """
            select count(*) from information_schema.columns
            where table_schema = '\(lab.schema.text)' and table_name = 'attempt' and column_name = '\(name)'
            """
        ) == "1"
    }
}
