import Conversion
import Foundation
import TestSupport
import Testing

/// The catalogue of failures: complete, without doubles, and the only place that knows codes.
@Suite struct FailureCatalogueTests {
    private let entries = FailureSection.all.flatMap(\.entries)

    @Test func everyCodeHasOneEntry() {
        #expect(entries.map(\.code.rawValue).sorted() == FailureCode.allCases.map(\.rawValue).sorted())
    }

    @Test func entriesAreWhole() {
        for (code, entry) in entries {
            #expect(!entry.stages.isEmpty, "\(code)")
            #expect(Set(entry.stages).count == entry.stages.count, "\(code)")
            #expect(entry.meaning.hasSuffix("."), "\(code)")
            for text in [entry.cause, entry.advice ?? "nothing"] {
                #expect(!text.isEmpty && !text.hasSuffix(".") && !text.contains("|"), "\(code): \(text)")
            }
            #expect((1...7).contains(entry.exitCode), "\(code)")
        }
    }

    /// The same advice in two entries means that one of them has to say more.
    @Test func noAdviceStandsTwice() {
        let texts = FailureCode.allCases.filter { !$0.isDamage }.compactMap(\.advice)
        #expect(Dictionary(grouping: texts) { $0 }.filter { $0.value.count > 1 }.isEmpty)
    }

    @Test func damageHasATreatmentThatHelps() {
        for code in FailureCode.allCases where code.isDamage { #expect(code.damageModeThatHelps != nil, "\(code)") }
        #expect(FailureCode.truncated.damageModeThatHelps == .conceal)
        #expect(FailureCode.concealRefused.damageModeThatHelps == .trustPackets)
        #expect(FailureCode.roomCrash.damageModeThatHelps == nil)
    }

    @Test func newFailureTakesClassAndHintFromItsCode() {
        let failure = Failure(.diskFull, at: .write, "the disk is full")
        #expect(failure.code == "disk_full" && failure.kind == .transient && failure.stage == "write")
        #expect(failure.hint == FailureCode.diskFull.advice && failure.known == .diskFull)
        #expect(Failure(.diskFull, at: .write, "full", hint: "buy a disk").hint == "buy a disk")
        let other = failure.with(.fileSystemFull)
        #expect(other.known == .fileSystemFull && other.kind == .infrastructure && other.message == failure.message)
        #expect(other.hint == FailureCode.fileSystemFull.advice)
        #expect(Failure(code: "of_the_future", kind: .transient, stage: "open", message: "").known == nil)
    }

    @Test func pageShowsTheCatalogue() throws {
        #expect(
            try GeneratedPage.difference(of: "errors.md", from: FailureSection.markdown, between: "<!-- failures: ")
                == nil
        )
    }

    /// SQL cannot use the enumeration: each code that a function records must have the class and a stage of its entry.
    @Test func codesThatSQLRecordsAreThoseOfTheCatalogue() throws {
        let sql = try files(in: "migrations", ending: "sql").map(\.text).joined(separator: "\n")
        var found: Set<String> = []
        let ends = #/'([a-z_]+)', '(permanent|transient|infrastructure)', '(open|publish|lease|release)'/#
        for match in sql.matches(of: ends) where !["lost", "failed", "released"].contains(match.1) {
            let code = try #require(FailureCode(rawValue: String(match.1)), "\(match.0)")
            #expect(code.kind.rawValue == match.2, "\(match.0)")
            #expect(code.entry.stages.map(\.rawValue).contains(String(match.3)), "\(match.0)")
            found.insert(code.rawValue)
        }
        // Their class and stage stand further off in the text.
        for code in ["workers_lost", "rooms_crashed", "stalled", "deadline_missed", "worker_lost", "handed_back"] {
            #expect(sql.contains("'\(code)'"), "\(code) is not recorded any more")
            #expect(FailureCode(rawValue: code) != nil, "\(code)")
        }
        #expect(found.isSuperset(of: ["worker_lost", "handed_back"]))
    }

    /// Outside the catalogue, Swift code uses the enumeration: a code in quotes could be misspelt.
    @Test func noCodeIsQuotedOutsideTheCatalogue() throws {
        // Three of the names also mean something else: a setting of PostgreSQL, a column of the ledger, and what
        // `check` finds.
        let names = FailureCode.allCases.map(\.rawValue).filter { $0.contains("_") }
            .filter { !["read_only", "workers_lost", "not_a_file"].contains($0) }
        for file in try files(in: "Sources", ending: "swift") where !file.path.contains("Conversion/Failures/") {
            for name in names { #expect(!file.text.contains("\"\(name)\""), "\(name) in \(file.path)") }
        }
    }

    /// Each code occurs in the expectation of some test, by its raw value or its case.
    @Test func everyCodeIsExpectedBySomeTest() throws {
        let tests = try (files(in: "Tests", ending: "swift") + files(in: "Tests", ending: "py"))
            .filter { !$0.path.hasSuffix("FailureCatalogueTests.swift") }.map(\.text).joined(separator: "\n")
        var (cases, names): (Set<Substring>, Set<Substring>) = ([], [])
        for match in tests.matches(of: /([." ])([A-Za-z0-9_]+)("| at )?/) {
            switch (match.1, match.3) {
            case (".", _): cases.insert(match.2)
            // As a value, in a count of attempts ("released draining"), or with its stage ("io_source at open").
            case (_, "\""), ("\"", " at "): names.insert(match.2)
            default: break
            }
        }
        for code in FailureCode.allCases {
            let isExpected = cases.contains("\(code)"[...]) || names.contains(code.rawValue[...])
            #expect(isExpected, "no test expects \(code.rawValue)")
        }
    }

    private func files(in folder: String, ending: String) throws -> [(path: String, text: String)] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardizedFileURL
        let names = try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: folder).path)
        return try names.filter { $0.hasSuffix(".\(ending)") }.map { name in
            ("\(folder)/\(name)", try String(contentsOf: root.appending(path: "\(folder)/\(name)"), encoding: .utf8))
        }
    }
}
