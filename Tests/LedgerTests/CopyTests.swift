import Conversion
import FoundationEssentials
import TestSupport
import Testing

@testable import Ledger

struct CopyTests {
    private struct Stop: Error {}

    private func table(_ lab: Lab) async throws {
        let schema = lab.schema
        try await lab.run { connection in
            _ = try connection.execute(
                "create table \(schema).job (id bigint primary key, key uuid, recipe jsonb not null, note text)"
            )
        }
    }

    private static let columns = ["id", "key", "recipe", "note"]

    @Test func aHundredThousandRowsArrive() async throws {
        let lab = try await Lab()
        try await table(lab)
        let schema = lab.schema
        let count = 100_000
        let added = try await lab.run { connection in
            try connection.copy(1...count, into: "\(schema).job", columns: Self.columns) { number, row in
                row.append(number)
                row.append(UUID())
                row.append(JSON(text: #"{"source": "/music/\#(number).flac", "presets": ["speech-16k"]}"#))
                row.append(number.isMultiple(of: 2) ? "even" : nil)
            }
        }
        #expect(added == count)
        let (rows, sum, evens, last) = try await lab.run { connection in
            let read = try connection.first(
                "select count(*), sum(id)::bigint, count(note), max(recipe->>'source') from \(schema).job"
            ) { (try $0[0] as Int, try $0[1] as Int, try $0[2] as Int, try $0[3] as String) }
            return try #require(read)
        }
        #expect(rows == count)
        #expect(sum == count * (count + 1) / 2)
        #expect(evens == count / 2)
        #expect(last == "/music/99999.flac")
    }

    @Test func aSequenceThatThrowsAddsNothing() async throws {
        let lab = try await Lab()
        try await table(lab)
        let schema = lab.schema
        await #expect(throws: Stop.self) {
            try await lab.run { connection in
                _ = try connection.copy(1...50_000, into: "\(schema).job", columns: Self.columns) { number, row in
                    if number == 40_000 { throw Stop() }
                    row.append(number)
                    row.append(nil as UUID?)
                    row.append(JSON(text: "{}"))
                    row.append(nil as String?)
                }
            }
        }
        // The same connection is still usable.
        let rows: Int = try await lab.run { try $0.value("select count(*) from \(schema).job") }
        #expect(rows == 0)
    }

    @Test func aRowThatTheServerRefusesIsNamedByItsRule() async throws {
        let lab = try await Lab()
        try await table(lab)
        let schema = lab.schema
        for count in [2, 200_000] {
            let error = try await failure {
                try await lab.run { connection in
                    _ = try connection.copy(1...count, into: "\(schema).job", columns: Self.columns) { number, row in
                        row.append(number == 2 ? 1 : number)
                        row.append(nil as UUID?)
                        row.append(JSON(text: "{}"))
                        row.append(nil as String?)
                    }
                }
            }
            #expect(error.code == .ledgerConflict)
            #expect(error.sqlState == "23505")
        }
        let rows: Int = try await lab.run { try $0.value("select count(*) from \(schema).job") }
        #expect(rows == 0)
    }

    @Test func aTableThatIsMissingIsNamed() async throws {
        let lab = try await Lab()
        let schema = lab.schema
        let error = try await failure {
            try await lab.run { try $0.copy([1], into: "\(schema).nothing", columns: ["id"]) { $1.append($0) } }
        }
        #expect(error.code == .ledgerMissing)
        #expect(error.detail.contains("nothing"))
    }

    @Test func aRowWithTooFewValuesIsRefused() async throws {
        let lab = try await Lab()
        try await table(lab)
        let schema = lab.schema
        let error = try await failure {
            try await lab.run { try $0.copy([1], into: "\(schema).job", columns: Self.columns) { $1.append($0) } }
        }
        #expect(error.code == .ledgerBadStatement)
        let one: Int = try await lab.run { try $0.value("select 1") }
        #expect(one == 1)
    }

    @Test func copyEndsWhenItsTimeIsOver() async throws {
        let lab = try await Lab()
        try await table(lab)
        let schema = lab.schema
        let error = try await failure {
            try await lab.source.run("copy", within: .milliseconds(200)) { connection in
                try connection.copy(1..., into: "\(schema).job", columns: Self.columns) { number, row in
                    row.append(number)
                    row.append(nil as UUID?)
                    row.append(JSON(text: "{}"))
                    row.append(nil as String?)
                }
            }
        }
        #expect(error.code == .ledgerTimedOut)
        #expect(!error.mayHaveHappened)
        let rows: Int = try await lab.run { try $0.value("select count(*) from \(schema).job") }
        #expect(rows == 0)
    }
}
