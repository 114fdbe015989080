import Conversion
import Foundation
import Storage
import Testing

@testable import Command
@testable import Ledger

/// Which files are scanned, and which are reported.
struct ScanSurveyTests {
    private static let stamp = SourceStamp(bytes: 1_000, modified: 77)

    private func survey(every: Duration? = nil, _ change: (inout EarlierScan) -> Void) throws -> ScanSurvey {
        var earlier = EarlierScan()
        (earlier.stamp, earlier.checkedAt) = (Self.stamp, Date(timeIntervalSince1970: 0))
        change(&earlier)
        var survey = ScanSurvey(every: every, isAgain: false, now: Date(timeIntervalSince1970: 1_000))
        survey.classify(try Location("in:a.wav"), earlier, Self.stamp)
        return survey
    }

    /// Retention has dropped the job.
    @Test func aFindingOutlastsItsJob() throws {
        #expect(try survey { _ in }.unchanged == 1)
        for survey in [try survey { $0.hasRotten = true }, try survey { $0.isDamaged = true }] {
            #expect((survey.failed.count, survey.rest, survey.chosen.count) == (1, 1, 0))
        }
        let due = try survey(every: .seconds(999)) { $0.hasRotten = true }
        #expect((due.due, due.failed.count, due.chosen.count) == (1, 0, 1))
    }
}
