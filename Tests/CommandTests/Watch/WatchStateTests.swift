import API
import Foundation
import Ledger
import TestSupport
import Testing

@testable import Command
@testable import Console

/// The effects of keys in `sluice watch`.
struct WatchStateTests {
    private func job(_ state: WatchState) -> Int64? {
        guard case .job(let job)? = state.chosen else { return nil }
        return job.job
    }

    @Test func numbersAndTabChooseLists() async throws {
        let material = try await WatchMaterial()
        var state = try await material.state()
        for list in WatchList.allCases where list != .running {
            #expect(state.take(.character(Character("\(list.rawValue)"))) == .look)
            #expect(state.list == list && state.query.list == list)
        }
        #expect(state.take(.tab) == .look && state.list == .running)
        #expect(state.take(.backTab) == .look && state.list == .workers)
        #expect(state.take(.character("6")) == nil && state.take(.character("7")) == nil)
    }

    @Test func factsOfAnEarlierListDoNotFillTheNewOne() async throws {
        let material = try await WatchMaterial()
        var state = try await material.state()
        let old = try await material.look(state.query)
        _ = state.take(.character("3"))
        state.take(old)
        #expect(state.rows.isEmpty && state.isAwaitingRows)
        // The user has not seen the new rows yet, so no key changes them.
        #expect(state.take(.character("C")) == nil && state.message?.text.hasPrefix("not yet") == true)
        state.take(try await material.look(state.query))
        #expect(job(state) == material.failed && !state.isAwaitingRows)
    }

    @Test func cursorStaysOnItsJobAndElseOnItsLine() async throws {
        let material = try await WatchMaterial()
        var state = try await material.state()
        try await material.press(.character("2"), .down, .down, in: &state)
        let chosen = try #require(job(state))
        try await material.bench.submit(5, stem: "later")
        state.take(try await material.look(state.query))
        #expect(job(state) == chosen && state.place == 7)
        try await material.bench.ledger.apply(.cancel, to: JobFilter(ids: [chosen]))
        state.take(try await material.look(state.query))
        #expect(state.place == 7 && job(state) != chosen)
    }

    @Test func pagesFollowEachOtherThereAndBack() async throws {
        let material = try await WatchMaterial(waiting: 250)
        var state = try await material.state()
        try await material.press(.character("2"), in: &state)
        var seen: Set<Int64> = []
        for _ in 0..<251 {
            seen.insert(try #require(job(state)))
            try await material.press(.down, in: &state)
        }
        #expect(seen.count == 251)
        #expect(state.earlierRows == 200 && !state.hasLaterPage && state.place == 50)
        for _ in 0..<51 { try await material.press(.up, in: &state) }
        #expect(state.earlierRows == 100 && state.place == 99)
        try await material.press(.home, in: &state)
        #expect(state.earlierRows == 0 && state.place == 0)
        state.visibleRows = 60
        try await material.press(.pageDown, .pageDown, .pageDown, in: &state)
        #expect(state.earlierRows == 100)
    }

    // MARK: - Changes

    @Test func nothingIsChangedBeforeACountAndAYes() async throws {
        let material = try await WatchMaterial()
        var state = try await material.state()
        let cancel = WatchChange.jobs(
            .cancel,
            JobFilter(ids: [material.running[0]]),
            which: "\(material.running[0]) in:a/1.wav"
        )
        #expect(state.take(.character("c")) == .count(cancel))
        // Typed before the question was on the screen.
        #expect(state.take(.character("y")) == nil)
        let count = try await cancel.count(in: material.bench.ledger)
        #expect(count == 1)
        state.take(count: count ?? 0, of: cancel)
        #expect(state.foot() == "cancel 1 job (\(material.running[0]) in:a/1.wav)?  y/N")
        for key in [Key.character("n"), .enter, .escape, .character("c"), .paste("y"), .down] {
            var other = state
            #expect(other.take(key) == nil && other.mode == .list && other.message?.text == "nothing was done")
        }
        #expect(state.take(.character("y")) == .carryOut(cancel))
        #expect(try await material.bench.state(material.running[0]) == .running)
        let tally = try await cancel.carryOut(in: material.bench.ledger) { _ in }
        state.end(cancel, .success(tally))
        #expect(state.foot() == "0 jobs cancelled, 1 running job being stopped")
        state.take(try await material.look(state.query))
        #expect(state.text().contains("stopping"))
    }

    @Test func capitalsMeanAllThatAreListed() async throws {
        let material = try await WatchMaterial()
        let filter = try WatchFilter(words: "queue=default in:a/")
        var state = try await material.state(filter: filter)
        try await material.press(.character("2"), in: &state)
        let all = try counted(state.take(.character("C")))
        #expect(try await all.count(in: material.bench.ledger) == 3)
        state.take(count: 3, of: all)
        #expect(state.foot() == "cancel 3 jobs (all waiting, queue=default in:a/)?  y/N")
        #expect(state.take(.character("y")) == .carryOut(all))
        let tally = try await all.carryOut(in: material.bench.ledger) { _ in }
        #expect(tally?.changed == 3)
        for job in material.waiting { #expect(try await material.bench.state(job) == .cancelled) }
        #expect(try await material.bench.state(material.running[0]) == .running)
        state.end(all, .success(tally))
        try await material.press(.character("4"), .escape, in: &state)
        let again = try counted(state.take(.character("R")))
        #expect(try await again.count(in: material.bench.ledger) == 4)
    }

    @Test func whatMeansNothingIsSaidAndNotAsked() async throws {
        let material = try await WatchMaterial()
        var state = try await material.state()
        let retry = try counted(state.take(.character("r")))
        state.take(count: try await retry.count(in: material.bench.ledger) ?? 9, of: retry)
        #expect(state.mode == .list)
        #expect(state.foot() == "nothing to retry (\(material.running[0]) in:a/1.wav)")
        try await material.press(.character("6"), in: &state)
        #expect(state.take(.character("c")) == nil && state.message != nil)
    }

    @Test func queuesArePausedAndResumedAndWorkersAsked() async throws {
        let material = try await WatchMaterial()
        let ledger = material.bench.ledger
        var state = try await material.state()
        #expect(state.take(.character("p")) == nil)
        #expect(state.foot() == "pause queue default? 3 jobs in it would wait; running jobs continue  y/N")
        #expect(state.take(.character("y")) == .carryOut(.pause(true, queue: "default")))
        _ = try await WatchChange.pause(true, queue: "default").carryOut(in: ledger) { _ in }
        state.end(.pause(true, queue: "default"), .success(nil))
        #expect(state.foot() == "queue default is paused")
        try await material.press(.character("5"), in: &state)
        state.take(try await material.look(state.query))
        #expect(state.foot().isEmpty == false && state.text().contains("default paused"))
        #expect(state.take(.character("p")) == nil && state.mode == .asking(.pause(false, queue: "default"), count: 3))
        _ = state.take(.character("n"))
        try await material.press(.character("6"), .end, in: &state)
        #expect(state.take(.character("p")) == nil)
        #expect(state.foot() == "stop worker pump-2 from claiming? it finishes its 2 jobs  y/N")
        let wish = try carriedOut(state.take(.character("y")))
        _ = try await wish.carryOut(in: ledger) { _ in }
        #expect(try await ledger.workers().first { $0.worker == material.worker }?.wish == .quiet)
    }

    @Test func leavingInTheMiddleOfAChangeTakesTwo() async throws {
        let material = try await WatchMaterial()
        var state = try await material.state()
        let what = try counted(state.take(.character("C")))
        state.take(count: 2, of: what)
        _ = state.take(.character("y"))
        #expect(state.take(.character("C")) == nil && state.message?.text == "wait until the current change is done")
        #expect(state.take(.character("q")) == nil)
        #expect(state.foot() == "still cancelling; press q again to stop and quit")
        #expect(state.take(.character("q")) == .leave)
        state.end(what, .success(nil))
        #expect(state.take(.character("q")) == .leave)
    }

    @Test func interruptingInTheMiddleOfAChangeTakesTwo() async throws {
        let material = try await WatchMaterial()
        var state = try await material.state()
        var idle = state
        #expect(idle.interrupt() == .leave)
        let what = try counted(state.take(.character("C")))
        state.take(count: 2, of: what)
        _ = state.take(.character("y"))
        // The question is shown on the list, even if the key was pressed on another page.
        _ = state.take(.character("?"))
        #expect(state.interrupt() == nil && state.mode == .list)
        #expect(state.foot() == "still cancelling; press Ctrl-C again to stop and quit")
        var other = state
        #expect(state.interrupt() == .leave)
        // Any other key in between restarts the question. Once the change is done, there is nothing to confirm.
        _ = other.take(.down)
        #expect(other.interrupt() == nil)
        other.end(what, .success(nil))
        #expect(other.interrupt() == .leave)
    }

    // MARK: - Filters

    @Test func filterIsTypedAndDropped() async throws {
        let material = try await WatchMaterial()
        var state = try await material.state()
        for key in [Key.character("/"), .character("x"), .backspace, .paste("in:a/2\n"), .character("?"), .backspace] {
            #expect(state.take(key) == nil)
        }
        #expect(state.foot() == "filter: in:a/2_")
        try await material.press(.enter, in: &state)
        #expect(state.rows.count == 1 && job(state) == material.running[1])
        #expect(state.foot().contains("esc clear in:a/2"))
        try await material.press(.escape, in: &state)
        #expect(state.rows.count == 2 && state.filter.isEmpty)
        _ = state.take(.character("/"))
        for letter in "batch=x" { _ = state.take(.character(letter)) }
        #expect(state.take(.enter) == nil && state.message?.text.hasPrefix("batch=x: must be an id") == true)
    }

    @Test(arguments: [
        "", "batch=17", "queue=nightly code=truncated", "batch=2 queue=a code=b pods:2024/my talk.wav", "pods:",
        "batch=2 source=queue=a",
    ])
    func filterSaysTheSameAgain(words: String) throws {
        let filter = try WatchFilter(words: words)
        #expect(filter.words == words)
        #expect(try WatchFilter(words: filter.words) == filter)
        #expect(filter.isEmpty == words.isEmpty)
    }

    @Test func anEmptyBeginningIsNone() throws {
        #expect(try WatchFilter(words: "source=").isEmpty)
        #expect(try WatchFilter(words: "source= in:a").words == "in:a")
    }

    // MARK: - Stories and help

    @Test func storyOpensMovesAndCloses() async throws {
        let material = try await WatchMaterial()
        var state = try await material.state()
        #expect(state.take(.enter) == .showStory(of: material.running[0]))
        state.take(story: (1...50).map { "line \($0)" }, of: material.running[0])
        let page = WatchPage(state, size: ScreenSize(columns: 80, rows: 24), style: ScreenStyle())
        (state.visibleRows, state.lastTop) = (page.visibleRows, page.lastTop)
        #expect(page.lines[0] == "line 1" && page.lines[22] == "line 23")
        _ = state.take(.pageDown)
        #expect(state.screen()[0] == "line 24")
        for _ in 0..<9 { _ = state.take(.pageDown) }
        #expect(state.screen()[22] == "line 50")
        _ = state.take(.up)
        #expect(state.screen()[22] == "line 49")
        #expect(state.take(.character("q")) == nil && state.mode == .list)
        state.take(story: nil, of: 99)
        #expect(state.foot() == "no such job 99")
    }

    @Test func lateStoryDoesNotInterruptTheUser() async throws {
        let material = try await WatchMaterial()
        let (first, second) = (material.running[0], material.running[1])
        let start = try await material.state()
        for key in [Key.character("/"), .character("?"), .character("c")] {
            var state = start
            #expect(state.take(.enter) == .showStory(of: first))
            _ = state.take(key)
            let mode = state.mode
            state.take(story: ["late"], of: first)
            #expect(mode != .list && state.mode == mode)
            _ = state.take(.escape)
            state.take(story: ["later"], of: first)
            #expect(state.mode == .list)
        }
        // Of two requested stories, only the later one opens.
        var state = start
        _ = state.take(.enter)
        _ = state.take(.down)
        #expect(state.take(.enter) == .showStory(of: second))
        state.take(story: ["first"], of: first)
        #expect(state.mode == .list)
        state.take(story: ["second"], of: second)
        #expect(state.mode == .story(job: second, lines: ["second"], top: 0))
    }

    @Test func helpScrollsOnASmallScreen() async throws {
        let material = try await WatchMaterial()
        var state = try await material.state()
        _ = state.take(.character("?"))
        let size = ScreenSize(columns: 80, rows: 10)
        func lines() -> [String] { WatchPage(state, size: size, style: ScreenStyle()).lines }
        let page = WatchPage(state, size: size, style: ScreenStyle())
        (state.visibleRows, state.lastTop) = (page.visibleRows, page.lastTop)
        #expect(lines()[0] == "sluice watch" && lines()[9] == "esc back   up/down move   space next page")
        let second = lines()[1 + 2]
        _ = state.take(.down)
        #expect(lines()[2] == second)
        _ = state.take(.end)
        #expect(lines()[8].hasSuffix("advance at the reported speed."))
        _ = state.take(.pageDown)
        _ = state.take(.home)
        #expect(lines()[0] == "sluice watch")
        _ = state.take(.character("q"))
        #expect(state.mode == .list)
    }

    @Test func helpNamesEveryKeyThatIsOffered() async throws {
        let material = try await WatchMaterial()
        var state = try await material.state()
        _ = state.take(.character("?"))
        let help = state.text(80, 40)
        for key in ["c ", "C ", "r ", "R ", "p ", "/ ", "esc ", "enter ", "Ctrl-L", "q, Ctrl-C"] {
            #expect(help.contains("\n" + key), "\(key)")
        }
        #expect(state.take(.character("q")) == nil && state.mode == .list)
        #expect(state.take(.character("q")) == .leave)
        #expect(state.take(.control("l")) == .redraw)
    }
}
