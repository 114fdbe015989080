import Foundation
import Testing

/// The steps in `migrations/tables` change tables, and each function has one text in `migrations/functions`.
struct MigrationFilesTests {
    private static let root = Result { try SourceTree().root }

    private static func files(in folder: String) throws -> [(path: String, text: String)] {
        let root = try root.get()
        return try SourceTree().names(in: folder).filter { $0.hasSuffix(".sql") }.map { name in
            ("\(folder)/\(name)", try String(contentsOf: root.appending(path: "\(folder)/\(name)"), encoding: .utf8))
        }
    }

    /// The steps behind those of release 0.1.0, which are as that release has them.
    private static func laterSteps() throws -> [(path: String, text: String)] {
        Array(try files(in: "migrations/tables").dropFirst(23))
    }

    private static func made(in text: String) -> [(name: String, arguments: String)] {
        text.matches(of: /(?m)^create (?:or replace )?function (\w+)\(([^)]*)/).map { (String($0.1), String($0.2)) }
    }

    /// A function made from a piece of text and the catalog's definition stands in no file, so reviewers cannot read it.
    @Test func noFunctionIsMadeFromTheTextOfAnother() throws {
        let later = try Self.laterSteps()
        #expect(later.first?.path == "migrations/tables/0024_release_0_2.sql")
        let functions = try Self.files(in: "migrations/functions")
        #expect(functions.count > 20)
        for file in later + functions {
            for word in ["pg_get_functiondef", "prosrc", "change_function", "regexp_replace"] {
                #expect(!file.text.contains(word), "\(file.path) contains \(word)")
            }
        }
    }

    @Test func eachFunctionHasOneText() throws {
        var places: [String: String] = [:]
        for file in try Self.files(in: "migrations/functions") + Self.laterSteps() {
            for function in Self.made(in: file.text) {
                let signature = "\(function.name)(\(function.arguments))"
                if let earlier = places.updateValue(file.path, forKey: signature) {
                    Issue.record("\(signature) is in \(earlier) and in \(file.path)")
                }
            }
        }
        #expect(places.count > 200)
        for file in try Self.files(in: "migrations/functions") {
            #expect(!file.text.contains(/(?m)^create (?!or replace )/), "\(file.path): a second run would fail")
            #expect(file.text.hasPrefix("-- "), "\(file.path) does not say how it works")
        }
    }

    /// Functions on which tables depend are in steps: see `LedgerFunctions.current`.
    @Test func laterStepsMakeOnlyFunctionsOnWhichTablesDepend() throws {
        let names = try Self.laterSteps().flatMap { Self.made(in: $0.text).map(\.name) }
        #expect(names.sorted() == ["acting_for", "caller", "lane_codec", "write_jobs_of"])
    }
}
