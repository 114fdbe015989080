import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

@testable import Command

/// The page that `sluice report` writes: what stands on it, and what foreign text cannot do to it.
struct ReportPageTests {
    private func page(_ report: BatchReport) -> String { ReportPage(report: report).html.text }

    @Test func thePageIsAsReviewed() throws {
        let text = page(ReportMaterial.report).replacing(Version.number, with: "VERSION")
        try Golden.expect(text, is: "report.html")
    }

    @Test func theRecordIsAsReviewed() throws {
        try Golden.expect(JSONText.line(ReportMaterial.report) + "\n", is: "report.json")
    }

    @Test func aBatchWithoutJobsHasAPage() {
        let report = BatchReport(
            batch: 3,
            name: nil,
            queue: "default",
            submitter: "ada",
            submittedAt: .now,
            asOf: .now,
            sourcesSkipped: 0
        )
        let text = page(report)
        #expect(text.contains("<h1>Batch 3</h1>") && text.contains("The batch has no jobs."))
        #expect(!text.contains("<section>") && !text.contains("<dl"))
    }

    // MARK: - Foreign text

    private static let hostile = [
        "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "' onmouseover='alert(1)", "</style><b>",
        "</title></head>", "<!--", "&lt;b&gt;", "\u{202E}gpj.exe", "\u{2066}a\u{2069}", "\u{1B}[31mred", "a\u{0}b",
        "one\r\ntwo", "\u{9B}31m", "\u{200B}x", "{{7*7}}", "javascript:alert(1)", "]]>", "\u{FFFE}",
    ]

    /// A report in which every text that people, files or other programs write is `text`.
    private func report(_ text: String) -> BatchReport {
        var report = BatchReport(
            batch: 1,
            name: text,
            queue: text,
            submitter: text,
            submittedAt: .now,
            asOf: .now,
            sourcesSkipped: 0
        )
        (report.jobs.failed, report.attempts.failed, report.damage.files) = (1, 1, 1)
        report.presets.add(text)
        report.formats.add(text)
        report.workers.add(text)
        report.builds.add(text)
        var cause = BatchReport.FailureCause(
            code: text,
            kind: .permanent,
            stage: text,
            lastAt: .now,
            meaning: nil,
            usualCause: nil
        )
        (cause.jobs, cause.hint) = (2, text)
        cause.places = [.init(job: 1, source: text, seconds: .infinity, frame: .min, message: text)]
        report.failures = [cause]
        let damage = DamageReport(
            frames: .max,
            stretchCount: .max,
            stretches: [.init(start: .min, frames: .max, code: text), .init(start: .max, frames: .min, code: text)]
        )
        report.damage.listed = [
            .init(
                job: 1,
                source: text,
                state: .failed,
                treatment: text,
                frames: .min,
                sampleRateHz: .min,
                damage: damage
            )
        ]
        var loss = BatchReport.Loss(kind: .tags, brief: text)
        (loss.jobs, loss.count) = (1, .max)
        loss.examples = [.init(job: 1, source: text, detail: text)]
        report.losses = [loss]
        report.slowest = [
            .init(
                job: .max,
                source: text,
                state: .failed,
                seconds: .greatestFiniteMagnitude,
                audioSeconds: .infinity,
                worker: text,
                bytes: .max
            )
        ]
        return report
    }

    /// The elements of the page, and their attributes.
    private static func markup(of text: String) -> Set<String> {
        Set(text.matches(of: #/<[^>]*>?/#).map { match in String(match.output).replacing(#/"[^"]*"/#, with: "\"\"") })
    }

    @Test(arguments: hostile) func foreignTextIsTextAndNothingElse(text: String) {
        let (plain, poisoned) = (page(report("a/name")), page(report(text)))
        // A text that came through unescaped would add an element, an attribute, or a comment.
        #expect(Self.markup(of: poisoned).isSubset(of: Self.markup(of: plain)), "\(text.debugDescription)")
        let isClean = poisoned.unicodeScalars.allSatisfy { $0 == "\n" || !$0.isUnprintable }
        #expect(isClean, "\(text.debugDescription)")
        // Nor does a line feed of a name begin a line of the page.
        let lines = { (text: String) in text.split(separator: "\n", omittingEmptySubsequences: false).count }
        #expect(lines(poisoned) == lines(plain))
    }

    @Test func hostileTextsAreReadUnchanged() {
        let text = page(report("<script>&\"'</script>"))
        #expect(text.contains("&lt;script&gt;&amp;&quot;&#39;&lt;/script&gt;"))
        #expect(!text.contains("<script"))
    }

    @Test func thePageForbidsWhatItDoesNotNeed() {
        let text = page(ReportMaterial.report)
        let policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
        #expect(text.contains("content=\"\(policy)\""))
        let words = [
            "<script", "<link", "<img", "<iframe", "<a ", "http://", "https://", "url(", "@import", "style=\"",
        ]
        for word in words { #expect(!text.contains(word), "\(word)") }
    }

    // MARK: - For those who do not see it

    @Test func everyTableAndEveryPictureCanBeReadAloud() {
        let text = page(ReportMaterial.report)
        let headers = text.matches(of: #/<th(?: [^>]*)?>/#).map { String($0.output) }
        #expect(headers.count > 20)
        for header in headers { #expect(header.contains("scope=\"col\"") || header.contains("scope=\"row\"")) }
        let pictures = text.matches(of: #/<svg[^>]*>/#).map { String($0.output) }
        #expect(pictures.count == 6)
        for picture in pictures {
            // Those without words stand beside words that say the same.
            let isNamed = picture.contains("role=\"img\"") && picture.contains(#/aria-label="[a-z]/#)
            #expect(isNamed || picture.contains("aria-hidden=\"true\""), "\(picture)")
        }
        let levels = text.matches(of: #/<h([1-6])/#).compactMap { Int($0.output.1) }
        let titles = levels.filter { $0 == 1 }
        #expect(levels.first == 1 && titles.count == 1)
        let skips = zip(levels, levels.dropFirst()).contains { $1 > $0 + 1 }
        #expect(!skips)
    }

    @Test func noPartOfTheBarCoversAnother() {
        #expect(ReportPage.widths(of: [750, 250]) == [750, 250])
        // One failure in a million is seen between many completed and many waiting jobs.
        #expect(ReportPage.widths(of: [500_000, 1, 499_999]) == [496, 4, 500])
        let many = ReportPage.widths(of: [1, 1, 1, 1, 1, 1, 1, 1, 1_000_000])
        #expect(many == [4, 4, 4, 4, 4, 4, 4, 4, 968])
        #expect(ReportPage.widths(of: [1]) == [1_000] && ReportPage.widths(of: []) == [])
    }

    // MARK: - Strips

    private func strip(_ stretches: [(start: Int64, frames: Int64)], of frames: Int64) -> String {
        let listed = stretches.map { DamageReport.Stretch(start: $0.start, frames: $0.frames, code: "corrupt_stream") }
        return DamageStrip(DamageReport(frames: 1, stretchCount: listed.count, stretches: listed), of: frames).path
    }

    @Test func damageStandsAtItsShareOfTheLength() {
        #expect(strip([(250, 500)], of: 1_000) == "M250 0h500v10h-500z")
        // Nothing is missing there, and the place can be seen.
        #expect(strip([(500_000, 0)], of: 1_000_000) == "M500 0h1v10h-1z")
        // The last frame is on the strip, and so is what lies behind the end.
        #expect(strip([(999_999, 1)], of: 1_000_000) == "M999 0h1v10h-1z")
        #expect(strip([(5_000_000, 1)], of: 1_000_000) == "M999 0h1v10h-1z")
        // What meets in a column is drawn once.
        let several = strip([(100_500, 10), (100_100, 10), (300_000, 2_000)], of: 1_000_000)
        #expect(several == "M100 0h1v10h-1zM300 0h2v10h-2z")
        #expect(strip([], of: 0).isEmpty && strip([(0, 1)], of: 0) == "M0 0h1000v10h-1000z")
    }

    // MARK: - Sums

    @Test func theTopListKeepsTheLargest() {
        var list = TopList<Int>(most: 3)
        for number in [5, 1, 9, 7, 3, 9] { list.add(Double(number), number) }
        #expect(list.entries == [9, 9, 7] && list.unlisted == 3)
    }

    /// A job that was lost after an hour with its worker, and then took ten seconds for an hour of sound.
    private static var lostAndDone: JobStory {
        var story = JobStory.blank
        (story.summary.job, story.summary.state, story.summary.worker) = (1, .completed, "pump-2")
        story.summary.since = Date(timeIntervalSince1970: 4_610)
        var (lost, done) = (AttemptRecord.blank, AttemptRecord.blank)
        (lost.epoch, lost.outcome, lost.workerName) = (1, .lost, "pump-1")
        (lost.startedAt, lost.endedAt) = (Date(timeIntervalSince1970: 1_000), Date(timeIntervalSince1970: 4_600))
        (done.epoch, done.outcome, done.workerName) = (2, .completed, "pump-2")
        (done.startedAt, done.endedAt) = (Date(timeIntervalSince1970: 4_600), Date(timeIntervalSince1970: 4_610))
        done.facts.audio = .seconds(3_600)
        story.attempts = [lost, done]
        return story
    }

    @Test func aSlowAttemptIsToldWithItsOwnSoundAndWorker() throws {
        var tally = BatchTally(BatchSummary(), asOf: Date(timeIntervalSince1970: 9_000))
        tally.add(Self.lostAndDone)
        let report = tally.finished
        let effort = try #require(report.slowest.first)
        // Not 3,600 s of sound in the hour of another attempt.
        #expect(effort.seconds == 3_600 && effort.audioSeconds == nil && effort.speed == nil)
        #expect(effort.worker == "pump-1")
        #expect(report.attempts.lost == 1 && report.attempts.completed == 1 && report.jobs.completed == 1)
        #expect(report.audioSeconds == 3_600 && report.workSeconds == 3_610)
    }

    @Test func aBatchTakesUntilItsLastJobEndsOrUntilNow() {
        var tally = BatchTally(BatchSummary(), asOf: Date(timeIntervalSince1970: 9_000))
        tally.add(Self.lostAndDone)
        #expect(tally.finished.tookSeconds == 3_610)
        var waiting = JobStory.blank
        (waiting.summary.job, waiting.summary.state) = (2, .waiting)
        tally.add(waiting)
        #expect(tally.finished.tookSeconds == 8_000)
    }

    @Test func aHintBelongsToItsCode() throws {
        var (story, attempt) = (JobStory.blank, AttemptRecord.blank)
        (story.summary.job, story.summary.state, story.summary.code) = (1, .failed, FailureCode.roomCrash.rawValue)
        attempt.outcome = .failed
        attempt.failure = Failure(.truncated, at: .decode, "cut", hint: "send `it` again")
        story.attempts = [attempt]
        var tally = BatchTally(BatchSummary(), asOf: .now)
        tally.add(story)
        let other = try #require(tally.finished.failures.first)
        // The ledger ended it for a reason of its own.
        #expect(other.code == FailureCode.roomCrash.rawValue && other.hint != "send it again")
        story.summary.code = FailureCode.truncated.rawValue
        tally = BatchTally(BatchSummary(), asOf: .now)
        tally.add(story)
        #expect(tally.finished.failures.first?.hint == "send it again")
    }

    @Test func aScanThatFoundDamageCountsWithWhatItDecoded() {
        var (story, attempt) = (JobStory.blank, AttemptRecord.blank)
        (story.summary.job, story.summary.state, story.summary.code) = (1, .failed, "corrupt_stream")
        attempt.outcome = .failed
        attempt.facts.audio = .seconds(60)
        attempt.facts.scan = ScanReport(
            frames: 2_646_000,
            damage: DamageReport(
                frames: 512,
                stretchCount: 1,
                stretches: [.init(start: 44_100, frames: 512, code: "corrupt_stream")]
            ),
            loudness: LoudnessReport(integratedLUFS: -23)
        )
        story.attempts = [attempt]
        var tally = BatchTally(BatchSummary(), asOf: .now)
        tally.add(story)
        let report = tally.finished
        #expect(report.audioSeconds == 60 && report.loudness.sources.files == 1 && report.damage.files == 1)
        #expect(report.outputs == 0 && report.failures.map(\.jobs) == [1])
    }

    @Test func whatWasAskedForIsNamedByThePresetOrByTheFormat() throws {
        var story = JobStory.blank
        let source = Recipe.Source(location: "in:a.wav")
        var recipe = Recipe(from: source, to: .init(location: "out:a.flac"))
        recipe.outputs.append(.init(location: "out:a.mp3", preset: "podcast-mp3"))
        recipe.outputs.append(.init(location: "out:a.dat", waveform: .init()))
        recipe.outputs.append(.init(location: "out:a.png", waveform: .init(spectrogram: .mel)))
        story.recipe = try recipe.json()
        var tally = BatchTally(BatchSummary(), asOf: .now)
        tally.add(story)
        let expected = ["flac": 1, "podcast-mp3": 1, "waveform": 1, "spectrogram": 1]
        #expect(tally.finished.presets.counts == expected)
    }

    @Test func partsOfTheTimeGrowWithIt() {
        var progress = EndedOverTime()
        let start = Date(timeIntervalSince1970: 1_795_000_000)
        for second in stride(from: 0, to: 100_000, by: 10) {
            progress.add(start.addingTimeInterval(Double(second)), failed: second % 1_000 == 0)
        }
        // Earlier than all before: pages come in the order of submission, not in that of the ends.
        progress.add(start.addingTimeInterval(-50_000), failed: false)
        let parts = progress.parts
        #expect(parts.count <= EndedOverTime.mostParts && parts.count > EndedOverTime.mostParts / 4)
        let (ended, failed) = (parts.map(\.ended).reduce(0, +), parts.map(\.failed).reduce(0, +))
        #expect(ended == 10_001 && failed == 100)
        #expect(progress.secondsPerPart == 2_048)
        let first = progress.startsAt?.timeIntervalSince(start) ?? 0
        #expect(first <= -50_000 && first > -50_000 - progress.secondsPerPart)
    }

    @Test func oneFailureBesideManyJobsIsSeen() {
        var report = ReportMaterial.report
        report.progress = EndedOverTime()
        for number in 0..<4_000 {
            report.progress.add(Date(timeIntervalSince1970: Double(number / 1_000)), failed: number == 1_500)
        }
        #expect(page(report).contains("<path class=\"bad\" d=\"M1 100v-2.5h.86V100z\"/>"))
    }

    @Test func theTimesOfAShortBatchHaveSeconds() {
        func times(_ seconds: Double) -> [String] {
            var report = ReportMaterial.report
            report.progress = EndedOverTime()
            for part in 0..<8 {
                let start = Date(timeIntervalSince1970: 1_795_079_520)
                report.progress.add(start.addingTimeInterval(Double(part) * seconds), failed: false)
            }
            return page(report).matches(of: #/<li><time [^>]*>([^<]*)<\/time>/#).map { String($0.output.1) }
        }
        #expect(times(1) == ["2026-11-19 09:12:00", "2026-11-19 09:12:04", "2026-11-19 09:12:08"])
        // The parts of 64 s begin at whole multiples of it.
        #expect(times(600).first == "2026-11-19 09:11")
    }

    @Test func levelsAreSpreadAroundWholeNumbers() {
        var spread = LevelSpread()
        for level in [-16.04, -15.6, -16.4, -23, -14.5, -90, 40, .nan] { spread.add(level) }
        #expect(spread.files == 7 && spread.lowestLUFS == -90 && spread.highestLUFS == 40)
        #expect(spread.files(at: -16) == 3 && spread.files(at: -23) == 1 && spread.files(at: -14) == 1)
        #expect(spread.medianLUFS == -16)
        #expect(spread.range == -70...10)
        let counted = (-70...10).map { spread.files(at: $0) }.reduce(0, +)
        #expect(counted == 7)
        #expect(LevelSpread().medianLUFS == nil && LevelSpread().range == nil)
    }
}
