import Foundation
import TestSupport
import Testing

@testable import Media

/// The page on errors is what callers read: it lists what there is, and nothing else.
@Suite struct ErrorPageTests {
    private struct Row {
        let code: String
        let stages: [String]
        let errorClass: String
        let columns: Int
    }

    private func rows() throws -> [Row] {
        let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/errors.md")
        let text = try String(contentsOf: page.standardizedFileURL, encoding: .utf8)
        return text.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count > 4, cells[0].hasPrefix("`"), cells[0].hasSuffix("`") else { return nil }
            return Row(
                code: cells[0].trimmingCharacters(in: ["`"]),
                stages: cells[1].components(separatedBy: ", "),
                errorClass: cells[2],
                columns: cells.count
            )
        }
    }

    @Test func pageListsEveryCodeOnceAndNoOther() throws {
        #expect(try rows().map(\.code).sorted() == MediaError.Code.allCases.map(\.rawValue).sorted())
    }

    @Test func rowsAreWholeAndSpeakOfStagesAndClassesThatExist() throws {
        let stages = Set(MediaError.Stage.allCases.map(\.rawValue))
        for row in try rows() {
            #expect(row.columns == 6, "\(row.code)")
            #expect(row.stages == ["any"] || stages.isSuperset(of: row.stages), "\(row.code): \(row.stages)")
            #expect(["permanent", "transient", "request", "stop"].contains(row.errorClass), "\(row.code)")
        }
    }

    @Test func provocationsEndInAStageOfThePage() throws {
        let known = Dictionary(uniqueKeysWithValues: try rows().map { ($0.code, $0.stages) })
        for provocation in Provocation.all {
            let stages = known[provocation.code.rawValue] ?? []
            let isKnown = stages == ["any"] || stages.contains(provocation.stage.rawValue)
            #expect(isKnown, "\(provocation.code.rawValue) in \(provocation.stage.rawValue)")
        }
    }
}
