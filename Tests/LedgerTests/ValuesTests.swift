import Conversion
import FoundationEssentials
import TestSupport
import Testing

@testable import Ledger

struct ValuesTests {
    enum Color: String { case red, blue }

    /// Sends `value` to the server and returns what comes back.
    private func back<Value: ParameterValue & ColumnValue>(_ value: Value, _ cast: String) async throws -> Value {
        let lab = try await Lab()
        return try await lab.run { connection in
            var statement: Statement = "select \(value)"
            statement = statement.appending("::\(cast)")
            return try connection.value(statement)
        }
    }

    @Test(arguments: [0, 1, -1, Int.max, Int.min])
    func wholeNumbersComeBack(number: Int) async throws {
        #expect(try await back(number, "bigint") == number)
        #expect(try await back(Int64(number), "bigint") == Int64(number))
        let small = Int32(truncatingIfNeeded: number)
        #expect(try await back(small, "integer") == small)
        let least = Int16(truncatingIfNeeded: number)
        #expect(try await back(least, "smallint") == least)
    }

    @Test(arguments: [0, -0.1, .pi, .infinity, .greatestFiniteMagnitude, .leastNonzeroMagnitude])
    func fractionsComeBack(number: Double) async throws {
        #expect(try await back(number, "double precision") == number)
    }

    @Test(arguments: ["", "a", "ä \u{1F3A7} \\ ' \" $1", String(repeating: "x", count: 3_000_000)])
    func textsComeBack(text: String) async throws {
        #expect(try await back(text, "text") == text)
        #expect(try await back(JSON(text: #"{"a": 1}"#), "jsonb") == JSON(text: #"{"a": 1}"#))
    }

    @Test func otherValuesComeBack() async throws {
        #expect(try await back(true, "boolean"))
        let id = UUID()
        #expect(try await back(id, "uuid") == id)
        let bytes = Data((0...255).map { UInt8($0) })
        #expect(try await back(bytes, "bytea") == bytes)
        #expect(try await back(Data(), "bytea") == Data())
        let length = Duration.seconds(-86_400 * 40) + .microseconds(7)
        #expect(try await back(length, "interval") == length)
    }

    /// Compared with a tolerance of a microsecond, because `Date` stores a fraction.
    @Test(arguments: [0, 0.000_001, -62_135_596_800, 1_700_000_000.123_456, 253_402_300_799])
    func timesComeBackToTheMicrosecond(seconds: Double) async throws {
        let time = Date(timeIntervalSince1970: seconds)
        let answer = try await back(time, "timestamptz")
        #expect(abs(answer.timeIntervalSince(time)) < 0.000_001)
    }

    @Test func timesMeanWhatPostgresMeans() async throws {
        let lab = try await Lab()
        let time: Date = try await lab.run { try $0.value("select '2024-02-29 12:00:00.5+02'::timestamptz") }
        #expect(time.timeIntervalSince1970 == 1_709_200_800.5)
        #expect(try await back(Date.distantFuture, "timestamptz") == .distantFuture)
        #expect(try await back(Date.distantPast, "timestamptz") == .distantPast)
        let isInfinite: Bool = try await lab.run { try $0.value("select \(Date.distantFuture) = 'infinity'") }
        #expect(isInfinite)
    }

    @Test func arraysComeBack() async throws {
        #expect(try await back([1, 2, -3], "bigint[]") == [1, 2, -3])
        #expect(try await back([Int](), "bigint[]") == [])
        #expect(try await back(["a", "", "{\",\\"], "text[]") == ["a", "", "{\",\\"])
        #expect(try await back([true, false], "boolean[]") == [true, false])
        #expect(try await back([0.5], "double precision[]") == [0.5])
        let ids = (0..<1_000).map { _ in UUID() }
        #expect(try await back(ids, "uuid[]") == ids)
        #expect(try await back([Data([1]), Data()], "bytea[]") == [Data([1]), Data()])
        #expect(try await back([Int32(7)], "integer[]") == [7])
        #expect(try await back([JSON(text: "[1]")], "jsonb[]") == [JSON(text: "[1]")])
        #expect(try await back([Duration.seconds(1)], "interval[]") == [.seconds(1)])
    }

    @Test func nullIsNilAndNothingElse() async throws {
        let lab = try await Lab()
        let nothing: Int? = nil
        let some: Int? = 5
        try await lab.run { connection in
            let read = try connection.first("select \(nothing) as a, \(some) as b, \([1, nil, 3]) as c") { row in
                (try row["a"] as Int?, try row["b"] as Int?, try row["c"] as [Int?])
            }
            #expect(read?.0 == nil)
            #expect(read?.1 == 5)
            #expect(read?.2 == [1, nil, 3])
        }
        let error = try await failure { try await lab.run { try $0.value("select \(nothing)", as: Int.self) } }
        #expect(error.code == .ledgerUnexpectedAnswer)
        let inArray = try await failure { try await lab.run { try $0.value("select \([1, nil])", as: [Int].self) } }
        #expect(inArray.code == .ledgerUnexpectedAnswer)
    }

    @Test func aTextServesForAnEnum() async throws {
        let lab = try await Lab()
        let schema = lab.schema
        try await lab.run { connection in
            try connection.script("create type \(schema).color as enum ('red', 'blue')")
            let color = try connection.first("select \(Color.blue)::\(schema).color as color") { row in
                try row.value("color", as: Color.self)
            }
            #expect(color == .blue)
            let colors: [String] = try connection.value("select array['red', 'blue']::\(schema).color[]")
            #expect(colors == ["red", "blue"])
        }
    }

    @Test func aColumnOfAnotherTypeIsRefusedByName() async throws {
        let lab = try await Lab()
        let error = try await failure {
            try await lab.run { try $0.first("select 1.5::numeric as total") { try $0["total"] as Int } }
        }
        #expect(error.code == .ledgerUnexpectedAnswer)
        #expect(error.detail.contains("total"))
        let large = try await failure { try await lab.run { try $0.value("select 40000", as: Int16.self) } }
        #expect(large.code == .ledgerUnexpectedAnswer)
        let unknown = try await failure {
            try await lab.run { try $0.first("select 1 as one") { try $0["two"] as Int } }
        }
        #expect(unknown.detail.contains("one"))
    }

    @Test func aZeroCharacterIsRefusedBeforeItIsCutOff() async throws {
        let lab = try await Lab()
        let error = try await failure { try await lab.run { try $0.value("select \("a\0b")::text", as: String.self) } }
        #expect(error.code == .ledgerRefused)
    }

    @Test func aValueIsNeverPartOfTheStatement() {
        let evil = "'; drop table job; --"
        let statement: Statement = "select \(evil), \(7) from \(name: "odd\"name")"
        #expect(statement.sql == "select $1, $2 from \"odd\"\"name\"")
        #expect(statement.parameters.count == 2)
    }
}
