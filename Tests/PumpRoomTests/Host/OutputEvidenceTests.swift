import Conversion
import Foundation
import TestSupport
import Testing

@testable import PumpRoom
@testable import RoomProgram

/// The check of an output file against the room's report.
@Suite struct OutputEvidenceTests {
    private let report: ConversionReport

    init() throws {
        let work = try SlotBench().short()
        report = try withExtendedLifetime(work) {
            try RecipeConversion(work.recipe).run(from: work.source.descriptor, to: work.destination.descriptor)
        }
    }

    private func objection(
        _ change: (inout OutputEvidence) -> Void = { _ in },
        limit: Int64? = nil
    ) -> OutputObjection? {
        var evidence = OutputEvidence(byteCount: report.bytes, hasHoles: false, hasWriters: false)
        change(&evidence)
        return evidence.objection(to: report, Recipe.Limits(outputBytes: limit))
    }

    @Test func whatWasToldIsFound() {
        #expect(objection() == nil)
        #expect(objection(limit: report.bytes) == nil)
    }

    @Test func lieEndsItsRoom() {
        for lie in [
            objection { $0.byteCount += 1 }, objection { $0.byteCount = 0 }, objection { $0.hasHoles = true },
            objection { $0.hasWriters = true },
        ] {
            #expect(lie?.failure.code == "room_protocol" && lie?.failure.kind == .transient)
            #expect(lie?.failure.stage == "finish")
            #expect(lie?.isLie == true)
        }
    }

    @Test func lengthBeyondTheLimitHasTheLimitsCode() {
        let objection = objection(limit: report.bytes - 1)
        #expect(objection?.failure.code == "output_bytes_exceeded" && objection?.failure.kind == .permanent)
        // An honest room may exceed the limit slightly, because the trailer comes after its last check.
        #expect(objection?.isLie == false)
    }

    @Test func lengthThatNoRoomOfOursReachesIsALie() {
        var report = report
        report.bytes = 4 << 30
        let evidence = OutputEvidence(byteCount: 4 << 30, hasHoles: false, hasWriters: false)
        let objection = evidence.objection(to: report, Recipe.Limits(outputBytes: 100_000))
        #expect(objection?.failure.code == "output_bytes_exceeded")
        #expect(objection?.isLie == true)
    }
}
