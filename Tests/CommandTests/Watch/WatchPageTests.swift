import API
import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

@testable import Command
@testable import Console

/// The screen of `sluice watch` at each size.
struct WatchPageTests {
    static let sizes = [
        (1, 1), (10, 3), (20, 5), (40, 9), (40, 12), (40, 24), (60, 20), (80, 24), (120, 40), (200, 60), (500, 200),
    ]

    @Test func queuesJobsWorkersAndFailuresStandOnEightyColumns() async throws {
        let material = try await WatchMaterial()
        var state = try await material.state()
        // The time of the worker's last heartbeat, however long the look took.
        state.now = try #require(state.facts.workers.first { $0.worker == material.worker }).beatAt
        let screen = state.screen()
        #expect(screen[0].hasPrefix("sluice    4 waiting   2 running "))
        #expect(screen[1].hasPrefix("batches   2 podcasts"))
        #expect(screen[1].contains("   0%  0 of 5"))
        #expect(screen[2].hasPrefix("          3 ") && screen[2].hasSuffix("   0%  0 of 1"))
        #expect(screen[3].hasPrefix("queues    default 3 waiting · 2 running"))
        #expect(screen[3].contains("nightly paused · 1 waiting"))
        #expect(screen[4].contains("pump-1      0/4"))
        #expect(screen[4].contains("pump-2 ██   2/4"))
        let tabs = try #require(screen.first { $0.hasPrefix("[1 running 2]") })
        #expect(tabs.contains("2 waiting 4") && tabs.contains("3 failed 1") && tabs.contains("5 queues 2"))
        let heading = try #require(screen.firstIndex { $0.hasPrefix("  ID  SOURCE ") })
        #expect(screen[heading + 1].hasPrefix("▸  \(material.running[0])  in:a/1.wav  ████████▌"))
        #expect(screen[heading + 1].contains("71%   241x  1:40  pump-2/0"))
        // How long ago it began depends on the speed of the machine.
        #expect(screen[heading + 2].hasPrefix("   \(material.running[1])  in:a/2.wav  since "))
        #expect(screen[heading + 2].contains("    -     -  pump-2/1"))
        #expect(screen[21].hasPrefix("── last failures ──"))
        let failure = screen[22].replacing(#/^(just now|[0-9]+ (s|min) ago)/#) { _ in "AGO" }
        #expect(failure == "AGO  truncated  1 job  \(material.failed) in:bad/1.wav")
        #expect(screen[23] == "? help   q quit   c cancel   p pause queue   enter details   / filter")
    }

    @Test(arguments: sizes)
    func everyLineFits(columns: Int, rows: Int) async throws {
        let material = try await WatchMaterial()
        var state = try await material.state()
        for list in WatchList.allCases {
            try await material.press(.character(Character("\(list.rawValue)")), in: &state)
            for unicode in [true, false] {
                let screen = state.screen(columns, rows, unicode: unicode)
                #expect(screen.count == rows)
                for line in screen { #expect(line.displayWidth <= columns, "\(list): \(line)") }
                if !unicode { #expect(screen.allSatisfy { $0.utf8.allSatisfy { $0 < 0x80 } }, "\(list)") }
            }
        }
        for key in [Key.character("?"), .character("x"), .character("/"), .paste(String(repeating: "長い", count: 200))] {
            _ = state.take(key)
            for line in state.screen(columns, rows) { #expect(line.displayWidth <= columns, "\(line)") }
        }
    }

    @Test(arguments: sizes)
    func colouredLinesFitAsWell(columns: Int, rows: Int) async throws {
        let material = try await WatchMaterial()
        var state = try await material.state()
        let style = ScreenStyle { "\u{1B}[\($1.rawValue)m\($0)\u{1B}[0m" }
        for list in WatchList.allCases {
            try await material.press(.character(Character("\(list.rawValue)")), in: &state)
            let lines = WatchPage(state, size: ScreenSize(columns: columns, rows: rows), style: style).lines
            for (line, plain) in zip(lines, state.screen(columns, rows)) {
                #expect(line.shownWidth <= columns)
                // Colours change nothing else, and every line ends without an open colour.
                let bare = PaintedText.parts(of: line).filter { !$0.isMark }.map(\.text).joined()
                #expect(bare.trimmingCharacters(in: .whitespaces) == plain.trimmingCharacters(in: .whitespaces))
                let marks: [String] = PaintedText.parts(of: line).filter(\.isMark).map(\.text)
                #expect(marks.isEmpty || marks.last == "\u{1B}[0m")
            }
        }
    }

    @Test func wordsOfOthersCannotMoveTheCursor() async throws {
        let material = try await WatchMaterial()
        let evil = "\u{1B}[2J\u{202E}\u{9B}1m\r\n\u{7}"
        let hostile = Recipe(from: Recipe.Source(location: "in:\(evil)x.wav"), to: Recipe.Output(location: "out:x.mp3"))
        _ = try await material.bench.ledger.submit(Submission(label: evil), recipes: [hostile])
        var state = try await material.state()
        var facts = state.facts
        facts.queues[0].name = evil
        facts.workers[0].name = evil
        facts.failures[0].code = evil
        facts.failures[0].exampleSource = evil
        state.take(facts)
        func expectHarmless() {
            for line in state.screen(200, 60) {
                #expect(!line.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) })
                #expect(!line.contains("\u{202E}"))
            }
        }
        expectHarmless()
        try await material.press(.character("2"), in: &state)
        #expect(state.text(200, 60).contains(#"\u{1b}[2J"#))
        expectHarmless()
        let job = try #require(state.chosen)
        guard case .job(let summary) = job else { throw SupportError("find the job", "\(job)") }
        #expect(summary.source.contains("\u{1B}"))
        let what = try counted(state.take(.character("c")))
        state.take(count: 1, of: what)
        expectHarmless()
        state.end(what, .failure(WatchFailure(Refusal.missing(evil))))
        expectHarmless()
        for key in [Key.escape, .character("/"), .paste(evil)] { _ = state.take(key) }
        expectHarmless()
    }

    @Test func questionKeepsItsAnswersWhateverTheNameIs() async throws {
        let material = try await WatchMaterial()
        var state = try await material.state()
        let what = try counted(state.take(.character("C")))
        state.take(count: 12_406, of: what)
        #expect(state.foot() == "cancel 12,406 jobs (all running)?  y/N")
        #expect(state.foot(20).hasSuffix("  y/N") && state.foot(20).hasPrefix("cancel"))
    }

    @Test func absenceOfTheLedgerIsSaidOverOldFacts() async throws {
        let material = try await WatchMaterial()
        var state = try await material.state()
        state.lose(LedgerError(.ledgerCannotReach, during: "look", "no server"))
        let screen = state.screen()
        #expect(screen[1].hasPrefix("the ledger has not answered since ") && screen[1].contains("ledger_cannot_reach"))
        #expect(screen[2].hasPrefix("batches"))
        state.take(try await material.look())
        #expect(!state.text().contains("has not answered"))
    }

    @Test func whatIsMissingIsSaid() async throws {
        let bench = try LedgerBench()
        var state = WatchState(try await WatchFacts.look(at: bench.ledger, WatchQuery()))
        #expect(state.text().contains("queues    default 0 waiting"))
        #expect(state.text().contains("workers   none are running; start one with \"sluice worker\""))
        #expect(state.text().contains("  no running jobs"))
        #expect(!state.text().contains("last failures"))
        _ = state.take(.character("3"))
        state.take(try await WatchFacts.look(at: bench.ledger, state.query))
        #expect(state.text().contains("  no failed jobs"))
    }

    @Test func claimedJobsAreNotSaidToRun() async throws {
        var facts = try await WatchMaterial().look()
        let place = try #require(facts.workers.firstIndex { $0.holds == 2 })
        facts.workers[place].begun = 1
        #expect(WatchState(facts).text(120, 40).hasPrefix("sluice    4 waiting   1 running   1 claimed "))
    }

    @Test func missingWorkersAreSaidOnce() async throws {
        var facts = try await WatchMaterial().look()
        facts.workers = []
        let text = WatchState(facts).text(120, 40)
        #expect(text.contains("workers   none are running") && !text.contains("no workers are running"))
        #expect(text.contains("note      housekeeping has not run yet"))
    }

    @Test func manyQueuesAndWorkersAreCounted() async throws {
        let material = try await WatchMaterial()
        var facts = try await material.look()
        let (queue, worker) = (facts.queues[0], facts.workers[0])
        facts.batches = []
        facts.queues = (0..<100).map { number in
            var other = queue
            other.name = "queue-\(number)"
            return other
        }
        facts.workers = (0..<100).map { number in
            var other = worker
            (other.name, other.worker) = ("pump-\(number)", Int64(number))
            return other
        }
        let state = WatchState(facts)
        for (columns, rows) in [(80, 24), (200, 60)] {
            let screen = state.screen(columns, rows)
            #expect(screen.count { $0.contains(" more") } == 2)
            for (word, all) in [("queue-", 100), ("pump-", 100)] {
                let shown = screen.reduce(0) { $0 + $1.components(separatedBy: word).count - 1 }
                // Running jobs also name their worker.
                let jobs = word == "pump-" ? 2 : 0
                #expect(screen.contains { $0.contains("+\(all - (shown - jobs)) more") }, "\(word) \(shown)")
            }
        }
    }

    @Test func longListsKeepTheCursorInSight() async throws {
        let material = try await WatchMaterial(waiting: 90)
        var state = try await material.state()
        try await material.press(.character("2"), in: &state)
        for _ in 0..<70 { _ = state.take(.down) }
        for rows in [12, 24, 60] {
            let marked = state.screen(80, rows).filter { $0.hasPrefix("▸") }
            let number = try job(state).job
            #expect(marked.count == 1 && marked[0].contains("\(number)"))
        }
        _ = state.take(.end)
        #expect(state.text().contains("81 to 91") || state.text().contains(" to 91"))
    }

    private func job(_ state: WatchState) throws -> JobSummary {
        guard case .job(let job)? = state.chosen else { throw SupportError("find the job", "\(state.place)") }
        return job
    }

    // MARK: - Between two heartbeats

    @Test func jobGoesOnAtTheSpeedThatWasTold() async throws {
        let material = try await WatchMaterial()
        let facts = try await material.look()
        let job = try #require(facts.page?.jobs.first { $0.job == material.running[0] })
        let worker = try #require(facts.workers.first { $0.worker == material.worker })
        let speed = JobSpeed(job: job.job, speed: 10, remaining: 40)
        func advance(_ seconds: Double) -> JobAdvance {
            JobAdvance(job, speed, of: worker, at: worker.beatAt.addingTimeInterval(seconds))
        }
        #expect(advance(0) == JobAdvance(job, speed, of: worker, at: worker.beatAt.addingTimeInterval(-5)))
        #expect(advance(0).share == 0.71 && advance(0).remaining == 40)
        #expect(abs((advance(20).share ?? 0) - 0.855) < 0.001 && abs((advance(20).remaining ?? 0) - 20) < 0.001)
        // Only the worker may report the job as done.
        #expect(advance(80).share == 0.99 && advance(80).remaining == 0)
        // A worker that is silent beyond its lease may have stopped.
        var lost = worker
        lost.leaseUntil = worker.beatAt.addingTimeInterval(10)
        let late = JobAdvance(job, speed, of: lost, at: worker.beatAt.addingTimeInterval(1_000))
        #expect(abs((late.remaining ?? 0) - 30) < 0.001)
        // An older worker reports no speed.
        let silent = JobAdvance(job, nil, of: nil, at: worker.beatAt)
        #expect(silent.share == 0.71 && silent.speed == nil && silent.remaining == nil)
    }
}
