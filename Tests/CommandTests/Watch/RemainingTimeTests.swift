import API
import FoundationEssentials
import Testing

@testable import Command
@testable import Console
@testable import Ledger

/// How long open jobs take, by the sound that is known.
struct RemainingTimeTests {
    private static let now = Date(timeIntervalSince1970: 1_000_000 * 60 + 54)

    /// `jobs` jobs with `seconds` of sound each were completed in the last `span` seconds.
    private func throughput(_ jobs: Int, of seconds: Int, in span: Double) throws -> RecentThroughput {
        var minute = MinuteThroughput()
        minute.minute = Date(timeIntervalSince1970: 1_000_000 * 60)
        (minute.completed, minute.audio, minute.began) = (jobs, .seconds(jobs * seconds), Self.now - span)
        return try #require(RecentThroughput([minute], at: Self.now))
    }

    private func counts(waiting: Int = 0, running: Int = 0, publishing: Int = 0) -> JobCounts {
        var counts = JobCounts()
        (counts.waiting, counts.running, counts.publishing) = (waiting, running, publishing)
        return counts
    }

    /// `age` seconds after it was measured.
    private func conversion(_ speed: Double, _ told: Double, age: Double = 0) -> RemainingTime.MeasuredConversion {
        RemainingTime.MeasuredConversion(speed: speed, told: told, remaining: max(0, told - age))
    }

    private func isAbout(_ time: RemainingTime?, _ seconds: Double) -> Bool {
        time.map { abs($0.seconds - seconds) < 0.001 } ?? false
    }

    /// A hundred short files have ended in ten seconds, and two long ones run.
    @Test func longJobsBehindShortOnesCount() throws {
        let recent = try throughput(100, of: 10, in: 10)
        let long = [conversion(200, 900), conversion(200, 300)]
        // By files, it would be 2 jobs at 10/s.
        #expect(isAbout(RemainingTime(counts(running: 2), claimed: 0, recent, long), 900))
        // 240,000 s of sound are left in the two, half of their sound; with it, 102 jobs have 481,000 s.
        let waiting = 102 * (481_000.0 / 102)
        let expected = (240_000 + waiting) / 400
        #expect(isAbout(RemainingTime(counts(waiting: 102, running: 2), claimed: 0, recent, long), expected))
    }

    @Test func shortJobsAreNotMeasuredAndCountByTheMean() throws {
        // 10 jobs and 100 s of sound each second.
        let recent = try throughput(100, of: 10, in: 10)
        #expect(isAbout(RemainingTime(counts(waiting: 996, running: 4), claimed: 0, recent, []), 100))
        // What is being published is converted.
        let jobs = counts(waiting: 996, running: 4, publishing: 50)
        #expect(isAbout(RemainingTime(jobs, claimed: 0, recent, []), 100))
        // One of four is measured: it says little about the speed of all.
        let one = [conversion(10, 5)]
        let mean = 1_100.0 / 101
        #expect(isAbout(RemainingTime(jobs, claimed: 0, recent, one), (999 * mean + 50) / 100))
    }

    /// Nothing has ended yet, as in the first minutes of long jobs.
    @Test func measuredConversionsAreEnough() {
        let two = [conversion(100, 60), conversion(300, 20)]
        // Half of each is done, so that a waiting job has 12,000 s; the third that runs is as fast as the mean of two.
        let time = RemainingTime(counts(waiting: 4, running: 5), claimed: 2, nil, two)
        #expect(isAbout(time, 160))
        #expect(RemainingTime(counts(waiting: 4), claimed: 0, nil, []) == nil)
        // One that stands still has a time to go all the same.
        #expect(isAbout(RemainingTime(counts(waiting: 4, running: 1), claimed: 0, nil, [conversion(0, 60)]), 60))
    }

    /// The length of a job does not shrink between two heartbeats of its worker.
    @Test func meansAreOfWhatWasMeasured() {
        let old = [conversion(100, 60, age: 30)]
        #expect(isAbout(RemainingTime(counts(waiting: 1, running: 1), claimed: 0, nil, old), 150))
        let past = [conversion(100, 60, age: 90)]
        #expect(isAbout(RemainingTime(counts(waiting: 1, running: 1), claimed: 0, nil, past), 120))
    }

    @Test func filesCountWhereNoSoundIsKnown() throws {
        let recent = try throughput(100, of: 0, in: 10)
        #expect(isAbout(RemainingTime(counts(waiting: 50), claimed: 0, recent, []), 5))
    }
}
