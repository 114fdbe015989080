import Conversion
import Testing

@testable import PumpRoom

/// How the slot watches one job and judges whether it may go on.
struct JobWatchTests {
    private var configuration = RoomConfiguration()

    private func watch(_ limits: Recipe.Limits = Recipe.Limits(), sourceBytes: Int64? = nil) -> JobWatch {
        var recipe = Recipe(from: Recipe.Source(location: "in:a"), to: Recipe.Output(location: "out:a"))
        recipe.limits = limits
        var work = RoomWork(recipe, from: -1, to: -1)
        work.sourceBytes = sourceBytes
        return JobWatch(RoomJob(id: 1, work: work, report: { _ in }, finish: { _ in }, ticket: RoomTicket()))
    }

    /// At 8 kHz.
    private func progress(seconds: Int, verified: Int? = nil) -> ConversionProgress {
        let frames = Int64(seconds) * 8_000
        return ConversionProgress(
            position: MediaTime(value: frames, timescale: 8_000),
            frames: frames,
            totalFrames: nil,
            verifiedFrames: verified.map { Int64($0) * 8_000 }
        )
    }

    // MARK: - Silence

    @Test func onlyFramesEndSilence() {
        var watch = watch()
        let first = watch.advance(to: progress(seconds: 1), configuration)
        watch.pass(.seconds(10))
        // The same position again is no work.
        let second = watch.advance(to: progress(seconds: 1), configuration)
        #expect(first && second)
        #expect(watch.quiet == .seconds(10))
        let third = watch.advance(to: progress(seconds: 1, verified: 1), configuration)
        #expect(third)
        #expect(watch.quiet == .zero)
        #expect(watch.elapsed == .seconds(10))
    }

    /// A first pass takes no frame for the output, and it is work all the same.
    @Test func measuredFramesEndSilenceAndEarnTime() {
        var watch = watch(Recipe.Limits(decodedSeconds: 100))
        func measured(_ seconds: Int, taken: Int = 0) -> ConversionProgress {
            var progress = progress(seconds: taken)
            progress.measuredFrames = Int64(seconds) * 8_000
            return progress
        }
        let first = watch.advance(to: measured(1), configuration)
        watch.pass(.seconds(10))
        let second = watch.advance(to: measured(100), configuration)
        #expect(first && second && watch.quiet == .zero)
        let backwards = watch.advance(to: measured(99), configuration)
        #expect(!backwards)
        let taken = watch.advance(to: measured(100, taken: 100), configuration)
        #expect(taken)
        // Ten minutes for any job, and four seconds for each second of sound in both passes.
        watch.pass(.seconds(1_390))
        #expect(watch.overdue(configuration) == nil)
        watch.pass(.milliseconds(1))
        #expect(isSlow(watch.overdue(configuration)))
        let beyond = watch.advance(to: measured(261, taken: 100), configuration)
        #expect(!beyond)
    }

    /// A room reports its early passes as one. Each is work, and a slow job gets the time for all of them.
    @Test(arguments: [1, 2, 3]) func everyPassBeforeTheConversionEarnsTime(passes: Int) throws {
        var piece = Piece(.source("a"))
        if passes > 2 { piece.trimSilence = try SilenceTrim(parsing: "-60dB/1") }
        var recipe = Recipe(
            sources: [.init(location: "in:a", name: "a")],
            outputs: [.init(location: "out:a", loudness: LoudnessGoal(target: .level(.init(hundredths: -1_600))))],
            timeline: Timeline(tracks: [.init(pieces: [piece])])
        )
        if passes > 1 { recipe.outputs[0].replayGain = .track }
        #expect(recipe.earlyPasses == passes)
        for (bytes, seconds) in [(nil, 100), (20_480, 20)] as [(Int64?, Int)] {
            var work = RoomWork(recipe, from: -1, to: -1)
            work.sourceBytes = bytes
            var watch = JobWatch(RoomJob(id: 1, work: work, report: { _ in }, finish: { _ in }, ticket: RoomTicket()))
            var reached = progress(seconds: 100, verified: 100)
            reached.measuredFrames = 100 * 8_000
            let isAccepted = watch.advance(to: reached, configuration)
            #expect(isAccepted)
            // Ten minutes for any job, and four seconds for each second of sound in every pass.
            watch.pass(.seconds(600 + 4 * seconds * (2 + passes)))
            #expect(watch.overdue(configuration) == nil)
            watch.pass(.milliseconds(1))
            #expect(isSlow(watch.overdue(configuration)))
        }
    }

    @Test func recipeMayShortenTheStallLimitAndNotLengthenIt() {
        #expect(watch().stallLimit(configuration) == .seconds(60))
        #expect(watch(Recipe.Limits(stallSeconds: 5)).stallLimit(configuration) == .seconds(5))
        #expect(watch(Recipe.Limits(stallSeconds: 500)).stallLimit(configuration) == .seconds(60))
    }

    // MARK: - False progress

    @Test func progressNeverGoesBack() {
        var watch = watch()
        let first = watch.advance(to: progress(seconds: 2), configuration)
        let second = watch.advance(to: progress(seconds: 1), configuration)
        #expect(first && !second)
    }

    @Test func floodOfReportsIsRefused() {
        var watch = watch()
        let accepted = (0..<2_000).prefix { _ in watch.advance(to: progress(seconds: 1), configuration) }
        #expect(accepted.count == 1_000)
        watch.pass(.seconds(30))
        let isAcceptedLater = watch.advance(to: progress(seconds: 1), configuration)
        #expect(isAcceptedLater, "fifty a second are allowed beyond the first thousand")
    }

    @Test func progressFarBeyondTheSoundThatTheJobMayDecodeIsRefused() {
        var watch = watch(Recipe.Limits(decodedSeconds: 100))
        // Twice the limit and a minute, because the room itself ends such a job.
        let within = watch.advance(to: progress(seconds: 260), configuration)
        let beyond = watch.advance(to: progress(seconds: 261), configuration)
        #expect(within && !beyond)
    }

    // MARK: - Time

    @Test func shorterOfTwoDeadlinesCounts() {
        var own = watch(Recipe.Limits(wallSeconds: 20))
        own.pass(.seconds(20))
        #expect(own.overdue(configuration) == nil)
        own.pass(.milliseconds(1))
        #expect(isDeadline(own.overdue(configuration), .seconds(20)))
        var slot = configuration
        slot.wallLimit = .seconds(10)
        #expect(isDeadline(own.overdue(slot), .seconds(10)))
    }

    @Test func slowJobIsOverdueOnceItsProgressDeservesNoMoreTime() {
        var watch = watch()
        let isAccepted = watch.advance(to: progress(seconds: 100), configuration)
        #expect(isAccepted)
        // Ten minutes for any job, and four seconds for each second of sound.
        watch.pass(.seconds(1_000))
        #expect(watch.overdue(configuration) == nil)
        watch.pass(.milliseconds(1))
        #expect(isSlow(watch.overdue(configuration)))
        var patient = configuration
        patient.minimumSpeed = nil
        #expect(watch.overdue(patient) == nil)
    }

    @Test func smallSourceEarnsLittleTimeWhateverTheRoomReports() {
        // Ten kibibytes hold ten seconds of sound at most: once decoded, once verified.
        var watch = watch(sourceBytes: 10_240)
        let isAccepted = watch.advance(to: progress(seconds: 5_000), configuration)
        #expect(isAccepted)
        watch.pass(.seconds(680))
        #expect(watch.overdue(configuration) == nil)
        watch.pass(.milliseconds(1))
        #expect(isSlow(watch.overdue(configuration)))
    }

    /// A room that reports whenever it is about to count as stalled: a frame each time, or as much sound as it likes.
    @Test(arguments: [(1, 11), (8_000_000, 141)] as [(frames: Int64, minutes: Int)])
    func reportsJustInTimeKeepASlotNoLongerThanTheSourceEarns(_ room: (frames: Int64, minutes: Int)) {
        var watch = watch(sourceBytes: 1_000_000)
        var frames: Int64 = 0
        while watch.overdue(configuration) == nil, watch.elapsed < .seconds(86_400) {
            watch.pass(.milliseconds(59_900))
            #expect(watch.quiet < watch.stallLimit(configuration))
            frames += room.frames
            let position = MediaTime(value: frames, timescale: 8_000)
            let progress = ConversionProgress(position: position, frames: frames, totalFrames: nil, verifiedFrames: nil)
            let isAccepted = watch.advance(to: progress, configuration)
            #expect(isAccepted)
        }
        #expect(isSlow(watch.overdue(configuration)))
        #expect(watch.elapsed <= .seconds(room.minutes * 60 + 60))
    }

    // MARK: - Processor time

    @Test func processorTimeCountsFromTheBeginningOfTheJob() {
        var watch = watch(Recipe.Limits(cpuSeconds: 10))
        watch.begin(WireCost(cpuMicroseconds: 500_000, peakBytes: 1), cpuMicroseconds: 700_000)
        #expect(watch.overspent(11_600_000, configuration) == nil)
        guard case .overspent(10)? = watch.overspent(11_700_000, configuration) else {
            Issue.record("eleven seconds are more than ten")
            return
        }
        #expect(watch.overspent(nil, configuration) == nil)
    }

    @Test func costIsWhatTheRoomUsedSinceTheJobBeganOrUnknown() {
        var watch = watch()
        watch.begin(WireCost(cpuMicroseconds: 500_000, peakBytes: 1), cpuMicroseconds: nil)
        #expect(watch.cost(cpuMicroseconds: 2_000_000, peakBytes: 7) == RoomCost(cpu: .seconds(1.5), peakBytes: 7))
        // A room cannot have used less than before the job.
        #expect(watch.cost(cpuMicroseconds: 400_000, peakBytes: 7) == RoomCost())
        #expect(watch.cost(cpuMicroseconds: 2_000_000, peakBytes: 0) == RoomCost())
    }

    // MARK: - Stopping

    @Test func firstReasonStandsAndTimeCountsFromIt() {
        var watch = watch()
        watch.pass(.seconds(3))
        #expect(watch.sinceStop == .zero)
        watch.stop(.deadline(.seconds(3)))
        watch.stop(.cancelled)
        watch.pass(.seconds(2))
        #expect(watch.sinceStop == .seconds(2))
        #expect(watch.stop?.failure(at: nil)?.known == .deadlineExceeded)
        #expect(JobWatch.Stop.cancelled.failure(at: nil) == nil)
        #expect(JobWatch.Stop.slow(time: .seconds(700)).failure(at: nil)?.known == .tooSlow)
    }

    private func isDeadline(_ stop: JobWatch.Stop?, _ limit: Duration) -> Bool {
        if case .deadline(limit)? = stop { true } else { false }
    }

    private func isSlow(_ stop: JobWatch.Stop?) -> Bool { if case .slow? = stop { true } else { false } }
}
