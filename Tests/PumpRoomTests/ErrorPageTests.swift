import Conversion
import Ledger
import Media
import Storage
import TestSupport
import Testing

@testable import PumpRoom

/// docs/errors.md lists every error code of every module, with the class that decides on retries.
@Suite struct ErrorPageTests {
    /// Every code with its class, as `code class`.
    private var entries: Set<String> {
        // Modules may share a code; then its class must be the same.
        var kinds = ["recipe_refused": Failure.Kind.permanent, "unexpected": .permanent]
        for code in MediaError.Code.allCases { kinds[code.rawValue] = code.kind }
        for code in StorageError.Code.allCases { kinds[code.rawValue] = code.kind }
        for code in LedgerError.Code.allCases { kinds[code.rawValue] = code.kind }
        for code in RoomFailure.Code.allCases { kinds[code.rawValue] = code.kind }
        for reason in ReleaseReason.allCases { kinds[reason.rawValue] = .infrastructure }
        // The codes that the ledger itself records may have another class than the same codes in a worker's report.
        let verdicts = LedgerVerdict.allCases.map { "\($0.rawValue) \($0.kind.rawValue)" }
        return Set(kinds.map { "\($0.key) \($0.value.rawValue)" } + verdicts)
    }

    @Test func pageListsEveryCodeOnceForEachClassAndNoOther() throws {
        #expect(try ErrorPage.rows().map { "\($0.code) \($0.kind)" }.sorted() == entries.sorted())
    }

    @Test func roomsThatShareACodeShareItsClass() {
        for code in MediaError.Code.allCases {
            guard let twin = StorageError.Code(rawValue: code.rawValue) else { continue }
            #expect(code.kind == twin.kind, "\(code.rawValue)")
        }
        #expect(MediaError.Code.cancelled.kind == LedgerError.Code.cancelled.kind)
    }

    @Test func rowsAreWholeAndSpeakOfStagesThatExist() throws {
        let stages = Set(MediaError.Stage.allCases.map(\.rawValue) + StorageError.Stage.allCases.map(\.rawValue))
            .union(["ledger", "lease", "release"])
        for row in try ErrorPage.rows() {
            #expect(row.columns == 6, "\(row.code)")
            #expect(row.stages == ["any"] || stages.isSuperset(of: row.stages), "\(row.code): \(row.stages)")
        }
    }
}
