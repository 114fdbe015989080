import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// The ledger's part of an album: who has measured, and when all have.
struct AlbumTests {
    private static func measure(step: Int, blocks: Int64 = 10, peak: Double? = -3) -> TrackMeasure {
        let lufs = AlbumMeasure.floorLUFS + (Double(step) + 0.5) * AlbumMeasure.stepLU
        let energy = pow(10, (lufs + 0.691) / 10) * Double(blocks)
        return TrackMeasure(
            report: LoudnessReport(integratedLUFS: lufs, truePeakDBTP: peak),
            album: AlbumMeasure(steps: [step], blocks: [blocks], energies: [energy], truePeakDBTP: peak)
        )
    }

    @Test func anAlbumIsClosedWhenAllHaveMeasured() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(3)
        let worker = try await lab.worker()
        let claims = try await lab.claim(3, for: worker)
        try #require(claims.count == 3)
        for claim in claims { #expect(try await lab.ledger.album(of: claim.fence) == .open(isMeasured: false)) }
        for (index, claim) in claims.enumerated() {
            #expect(
                try await lab.ledger.record(Self.measure(step: 400 + index % 2, peak: -Double(index)), of: claim.fence)
            )
            #expect(try await lab.ledger.album(of: claim.fence) == .open(isMeasured: true))
            if index < 2 {
                try await lab.ledger.release([claim.fence], because: .albumWaits)
                #expect(try await lab.close() == 0)
            }
        }
        // Two wait, and the third still runs. Nothing but the end of the third wakes them.
        let waiting = try await lab.ledger.jobs(matching: JobFilter(states: [.delayed])).jobs
        #expect(waiting.count == 2 && waiting.allSatisfy { $0.readyAt == nil && $0.code == "album_waits" })
        #expect(try await lab.value("select count(*) from \(lab.schema).delayed where ready_at = 'infinity'") == 2)
        #expect(try await lab.close() == 2)
        guard case .closed(let album) = try await lab.ledger.album(of: claims[2].fence) else {
            Issue.record("the album is open")
            return
        }
        #expect(album.measure.steps == [400, 401] && album.measure.blocks == [20, 10])
        #expect(album.measure.truePeakDBTP == 0)
        #expect(album.track == Self.measure(step: 400, peak: -2).report)
        // It began before the album was closed, and hands itself back only now.
        try await lab.ledger.release([claims[2].fence], because: .albumWaits)
        #expect(try await lab.close() == 1)
        #expect(try await lab.close() == 0)
        #expect(try await lab.value("select is_awaited from \(lab.schema).album") == false)
        #expect(try await lab.claim(3, for: worker).count == 3)
    }

    @Test func aStaleFenceRecordsNothing() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(1)
        let worker = try await lab.worker()
        let claim = try #require(try await lab.claim(1, for: worker).first)
        try await lab.ledger.release([claim.fence])
        #expect(try await lab.ledger.record(Self.measure(step: 1), of: claim.fence) == false)
        #expect(try await lab.ledger.album(of: claim.fence) == .lost)
        #expect(try await lab.value("select count(*) from \(lab.schema).album_track") == 0)
        let again = try #require(try await lab.claim(1, for: worker).first)
        #expect(try await lab.ledger.record(Self.measure(step: 2), of: claim.fence) == false)
        #expect(try await lab.ledger.record(Self.measure(step: 2), of: again.fence))
        // A repetition replaces the first, as after a lost answer.
        #expect(try await lab.ledger.record(Self.measure(step: 2), of: again.fence))
        #expect(try await lab.value("select count(*) from \(lab.schema).album_track") == 1)
    }

    @Test func albumsOfOtherBatchesAreTheirOwn() async throws {
        let lab = try await LedgerLab()
        try await lab.submit(1)
        try await lab.submit(2)
        let worker = try await lab.worker()
        let claims = try await lab.claim(3, for: worker).sorted { $0.fence.job < $1.fence.job }
        try #require(claims.count == 3)
        #expect(try await lab.ledger.record(Self.measure(step: 100), of: claims[0].fence))
        #expect(try await lab.ledger.record(Self.measure(step: 200), of: claims[1].fence))
        _ = try await lab.close()
        #expect(try await lab.ledger.album(of: claims[1].fence) == .open(isMeasured: true))
        guard case .closed(let album) = try await lab.ledger.album(of: claims[0].fence) else {
            Issue.record("the album is open")
            return
        }
        #expect(album.measure.steps == [100])
        // The third fails for good, and takes no part.
        try await lab.ledger.fail([AttemptFailure(claims[2].fence, Failure(.noAudioTrack, at: .open, "it has none"))])
        _ = try await lab.close()
        guard case .closed(let other) = try await lab.ledger.album(of: claims[1].fence) else {
            Issue.record("the album is open")
            return
        }
        #expect(other.measure.steps == [200])
    }
}

extension LedgerLab {
    /// The number of jobs that were woken.
    fileprivate func close() async throws -> Int { try await value("select \(schema).close_albums()") }
}
