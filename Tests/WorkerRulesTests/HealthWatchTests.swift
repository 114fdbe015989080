import Testing

@testable import WorkerRules

/// When a worker pauses itself and when it resumes; the test supplies the time.
struct HealthWatchTests {
    private let start = ContinuousClock.now
    private let bad = "room_start: no room"

    private func watch() -> HealthWatch { HealthWatch(firstPause: .seconds(5), longestPause: .seconds(60)) }

    @Test func fewFailuresAmongManyAttemptsDoNotPause() {
        var watch = watch()
        for job in 0..<100 as Range<Int64> {
            #expect(watch.note(job: job, failure: job.isMultiple(of: 3) ? bad : nil, at: start) == nil)
        }
        #expect(watch.state == .well)
    }

    @Test func failuresOfOneJobDoNotPause() {
        var watch = watch()
        for _ in 0..<50 { #expect(watch.note(job: 7, failure: bad, at: start) == nil) }
    }

    @Test func failuresOfSeveralJobsPause() {
        var watch = watch()
        for job in 0..<4 as Range<Int64> { #expect(watch.note(job: job, failure: bad, at: start) == nil) }
        #expect(watch.note(job: 4, failure: bad, at: start) == .paused(because: bad, wait: .seconds(5)))
        #expect(watch.pausedBecause == bad)
        #expect(!watch.isDue(at: start + .seconds(4)))
        #expect(watch.isDue(at: start + .seconds(5)))
    }

    @Test func pausesGrowUntilAJobIsGoodAndBeginAnewThen() {
        var (watch, now) = (watch(), start)
        var waits: [Duration] = []
        func took(_ change: HealthWatch.Change?) {
            guard case .paused(_, let wait)? = change else { return }
            waits.append(wait)
            now += wait
        }
        took(watch.fail(because: bad, at: now))
        for _ in 0..<5 {
            #expect(watch.isDue(at: now))
            watch.probe()
            took(watch.note(job: 1, failure: bad, at: now))
        }
        #expect(waits == [5, 10, 20, 40, 60, 60].map { .seconds($0) })
        watch.probe()
        #expect(watch.note(job: 1, failure: nil, at: now) == .resumed)
        #expect(watch.state == .well && watch.pausedBecause == nil)
        #expect(watch.fail(because: bad, at: now) == .paused(because: bad, wait: .seconds(5)))
    }

    @Test func whatEndsWhilePausedChangesNothing() {
        var watch = watch()
        _ = watch.fail(because: bad, at: start)
        #expect(watch.note(job: 1, failure: nil, at: start) == nil)
        #expect(watch.note(job: 2, failure: bad, at: start) == nil)
        #expect(watch.fail(because: "another", at: start) == nil)
        #expect(watch.pausedBecause == bad)
    }
}
