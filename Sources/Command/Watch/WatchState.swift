import API
import Console
import Conversion
import FoundationEssentials
import Ledger

/// The state of `sluice watch`: what the screen shows and what keys do. Independent of terminal and ledger.
struct WatchState: Sendable {
    private(set) var facts: WatchFacts
    private(set) var list = WatchList.running
    private(set) var filter: WatchFilter
    private(set) var mode = Mode.list {
        // If the user has moved on, a story that arrives late must not open.
        didSet { if mode != .list { awaitedStory = nil } }
    }
    private(set) var message: Message?
    /// Since when the ledger has been unreachable, and the error code.
    private(set) var absence: Absence?
    /// The rows of the list, as far as they are known.
    private(set) var rows: [WatchRow] = []
    /// The index of the cursor's row.
    private(set) var place = 0
    /// The change under way, and its progress.
    private(set) var change: (what: WatchChange, tally: ChangeTally?)?
    /// The ledger's time.
    var now: Date
    /// How many rows fit on the screen: the step of the page keys.
    var visibleRows = 1
    /// The last line at which the page of a story or of the help can start, with lines wrapped to the screen.
    var lastTop = 0

    /// The context that selected the ledger, if one did.
    let context: LedgerContext?
    private let batch: Int64?
    /// The cursors of the pages up to this one.
    private var pages: [JobCursor?] = [nil]
    /// Whether to put the cursor at the end of the page that is being fetched.
    private var startsAtEnd = false
    private var wantsToLeave = false
    /// The job whose story was requested and has not arrived.
    private var awaitedStory: Int64?

    enum Mode: Sendable, Hashable {
        case list
        /// The help page, and its first visible line.
        case help(top: Int)
        /// The text of a filter, as typed so far.
        case typing(String)
        /// The ledger is counting the affected jobs.
        case counting(WatchChange)
        case asking(WatchChange, count: Int)
        /// A job's story, and its first visible line.
        case story(job: Int64, lines: [String], top: Int)
    }

    struct Message: Sendable, Hashable {
        let text: String
        var ink: Ink?
    }

    struct Absence: Sendable, Hashable {
        let since: Date
        let code: String
    }

    /// What a key causes outside this value.
    enum Effect: Sendable, Hashable {
        case leave
        /// The list has changed: read the ledger at once.
        case look
        case redraw
        case count(WatchChange)
        case carryOut(WatchChange)
        case showStory(of: Int64)
    }

    init(_ facts: WatchFacts, filter: WatchFilter = WatchFilter(), context: LedgerContext? = nil) {
        (self.facts, self.filter, batch, now) = (facts, filter, facts.query.batch, facts.status.time)
        self.context = context
        setRows()
    }

    /// The query for the next look.
    var query: WatchQuery {
        WatchQuery(list: list, filter: filter, cursor: pages.last ?? nil, batch: batch)
    }

    /// Whether the present rows belong to an earlier query, while those of the new one are being fetched.
    var isAwaitingRows: Bool { facts.query != query }
    var hasEarlierPage: Bool { pages.count > 1 }
    var hasLaterPage: Bool { facts.page?.next != nil && !isAwaitingRows }
    /// Rows on the pages before this one.
    var earlierRows: Int { (pages.count - 1) * Int(query.limit) }
    var chosen: WatchRow? { rows.indices.contains(place) ? rows[place] : nil }

    // MARK: - What the ledger says

    mutating func take(_ new: WatchFacts) {
        absence = nil
        facts = new
        now = new.status.time
        // A look that was requested before the list changed updates everything but the list.
        if !isAwaitingRows { setRows() }
    }

    mutating func lose(_ error: LedgerError) {
        if absence == nil { absence = Absence(since: now, code: error.code.rawValue) }
    }

    mutating func take(count: Int, of what: WatchChange) {
        guard mode == .counting(what) else { return }
        mode = count > 0 ? .asking(what, count: count) : .list
        if count == 0 { message = Message(text: what.nothing, ink: .careful) }
    }

    mutating func take(progress: ChangeTally, of what: WatchChange) {
        if change?.what == what { change?.tally = progress }
    }

    /// Reports that the change is done, or why it failed.
    mutating func end(_ what: WatchChange, _ result: Result<ChangeTally?, WatchFailure>) {
        switch result {
        case .success(let tally): message = Message(text: what.done(tally), ink: .good)
        case .failure(let failure):
            // Jobs that were changed before the failure stay changed.
            let before = change?.tally.map { tally in
                tally.changed > 0 ? "; \(Figures.count(tally.changed, "job")) changed before that" : ""
            }
            message = Message(text: failure.text + (before ?? ""), ink: .bad)
        }
        if mode == .counting(what) { mode = .list }
        change = nil
        wantsToLeave = false
    }

    /// Ignores a story that is no longer expected.
    mutating func take(story lines: [String]?, of job: Int64) {
        guard let lines else {
            message = Message(text: "no such job \(job)", ink: .careful)
            return
        }
        if awaitedStory == job { mode = .story(job: job, lines: lines, top: 0) }
    }

    mutating func fail(_ failure: WatchFailure) { message = Message(text: failure.text, ink: .bad) }

    /// Takes the rows from the facts. The cursor stays on its row; if that is gone, on its line.
    private mutating func setRows() {
        let before = chosen?.id
        rows = WatchRow.rows(of: list, in: facts, filter)
        if startsAtEnd {
            place = rows.count - 1
        } else if let before, let found = rows.firstIndex(where: { $0.id == before }) {
            place = found
        }
        startsAtEnd = false
        place = max(0, min(place, rows.count - 1))
    }

    // MARK: - Keys

    mutating func take(_ key: Key) -> Effect? {
        if case .control("l") = key { return .redraw }
        switch mode {
        case .list: return takeInList(key)
        case .help(let top):
            takeInHelp(key, top)
            return nil
        case .typing(let text): return take(key, typing: text)
        case .counting:
            if key == .escape { mode = .list }
            return nil
        case .asking(let what, _):
            mode = .list
            guard key == .character("y") || key == .character("Y") else {
                message = Message(text: "nothing was done")
                return nil
            }
            change = (what, nil)
            return .carryOut(what)
        case .story(let job, let lines, let top):
            takeInStory(key, job, lines, top)
            return nil
        }
    }

    private mutating func takeInList(_ key: Key) -> Effect? {
        if key != .character("q") { wantsToLeave = false }
        message = nil
        switch key {
        case .character("q"): return leave(again: "q")
        case .character("?"), .character("h"): mode = .help(top: 0)
        case .character("/"): mode = .typing(filter.words)
        case .escape where !filter.isEmpty: return listAnew(list, WatchFilter())
        case .up, .character("k"): return move(by: -1)
        case .down, .character("j"): return move(by: 1)
        case .pageUp, .control("b"): return move(by: -visibleRows)
        case .pageDown, .control("f"), .character(" "): return move(by: visibleRows)
        case .home, .character("g"): return goToStart()
        case .end, .character("G"): place = max(0, rows.count - 1)
        case .tab, .right: return listAnew(neighbour(1), filter)
        case .backTab, .left: return listAnew(neighbour(-1), filter)
        case .character(let letter):
            if let number = letter.wholeNumberValue, let list = WatchList(rawValue: number) {
                return listAnew(list, filter)
            }
            return command(letter)
        case .enter:
            guard case .job(let job)? = chosen?.id else { return nil }
            awaitedStory = job
            return .showStory(of: job)
        default: break
        }
        return nil
    }

    /// Ctrl-C leaves from any mode. During a change, only the second one does.
    mutating func interrupt() -> Effect? {
        let effect = leave(again: "Ctrl-C")
        // Show the list, where the message is visible.
        if effect == nil { mode = .list }
        return effect
    }

    private mutating func leave(again key: String) -> Effect? {
        guard let change, !wantsToLeave else { return .leave }
        wantsToLeave = true
        message = Message(text: "still \(change.what.underWay); press \(key) again to stop and quit", ink: .careful)
        return nil
    }

    private func neighbour(_ step: Int) -> WatchList {
        let all = WatchList.allCases
        let here = all.firstIndex(of: list) ?? 0
        return all[(here + step + all.count) % all.count]
    }

    private mutating func listAnew(_ list: WatchList, _ filter: WatchFilter) -> Effect? {
        guard list != self.list || filter != self.filter else { return nil }
        (self.list, self.filter, pages, place) = (list, filter, [nil], 0)
        // Queues and workers are known and shown at once; jobs must be fetched.
        rows = list.isOfJobs ? [] : WatchRow.rows(of: list, in: facts, filter)
        return .look
    }

    private mutating func move(by step: Int) -> Effect? {
        let goal = place + step
        if goal >= rows.count, place >= rows.count - 1, let next = facts.page?.next, !isAwaitingRows {
            return turn(to: pages + [next], atEnd: false)
        }
        if goal < 0, place <= 0, pages.count > 1, !isAwaitingRows { return turn(to: pages.dropLast(), atEnd: true) }
        place = max(0, min(goal, rows.count - 1))
        return nil
    }

    private mutating func goToStart() -> Effect? {
        place = 0
        return pages.count > 1 ? turn(to: [nil], atEnd: false) : nil
    }

    private mutating func turn(to pages: [JobCursor?], atEnd: Bool) -> Effect? {
        (self.pages, startsAtEnd, rows, place) = (pages, atEnd, [], 0)
        return .look
    }

    private mutating func take(_ key: Key, typing text: String) -> Effect? {
        switch key {
        case .escape: mode = .list
        case .backspace: mode = .typing(String(text.dropLast()))
        case .control("u"): mode = .typing("")
        case .character(let letter): mode = .typing(text + String(letter))
        case .paste(let pasted): mode = .typing(text + pasted.filter { !$0.isNewline })
        case .enter:
            do throws(Misfit) {
                let filter = try WatchFilter(words: text)
                mode = .list
                return listAnew(list, filter)
            } catch {
                message = Message(text: "\(text): \(error.why)", ink: .careful)
                mode = .list
            }
        default: break
        }
        return nil
    }

    private mutating func takeInStory(_ key: Key, _ job: Int64, _ lines: [String], _ top: Int) {
        switch key {
        case .escape, .enter, .left, .backspace, .character("q"): mode = .list
        default:
            guard let top = scrolled(from: top, by: key) else { return }
            mode = .story(job: job, lines: lines, top: top)
        }
    }

    /// Keys that scroll do so if the page is longer than the screen. All others leave the help.
    private mutating func takeInHelp(_ key: Key, _ top: Int) {
        if lastTop > 0, let top = scrolled(from: top, by: key) { mode = .help(top: top) } else { mode = .list }
    }

    /// The new first line of a page; `nil` for a key that does not scroll.
    private func scrolled(from top: Int, by key: Key) -> Int? {
        let goal: Int
        switch key {
        case .up, .character("k"): goal = top - 1
        case .down, .character("j"): goal = top + 1
        case .pageUp, .control("b"): goal = top - visibleRows
        case .pageDown, .control("f"), .character(" "): goal = top + visibleRows
        case .home, .character("g"): goal = 0
        case .end, .character("G"): goal = lastTop
        default: return nil
        }
        return max(0, min(goal, lastTop))
    }

    // MARK: - Changes

    /// Starts the change for a letter. Capitals apply to all listed jobs.
    private mutating func command(_ letter: Character) -> Effect? {
        guard "cCrRp".contains(letter) else { return nil }
        guard !isAwaitingRows || !list.isOfJobs else {
            // The user has not seen yet which jobs would change.
            message = Message(text: "not yet: the list is still loading", ink: .careful)
            return nil
        }
        guard change == nil else {
            message = Message(text: "wait until the current change is done", ink: .careful)
            return nil
        }
        let wanted = letter == "p" ? pause() : jobs(letter)
        guard let what = wanted else {
            message = Message(text: "this key does nothing here", ink: .careful)
            return nil
        }
        if case .jobs = what {
            mode = .counting(what)
            return .count(what)
        }
        mode = .asking(what, count: jobsConcerned(by: what))
        return nil
    }

    private func jobs(_ letter: Character) -> WatchChange? {
        let change: JobChange = letter == "c" || letter == "C" ? .cancel : .retry
        if letter.isUppercase {
            guard list.isOfJobs, !rows.isEmpty else { return nil }
            let which = "all \(list.title)" + (filter.isEmpty ? "" : ", \(filter.words)")
            return .jobs(change, filter.change(in: list), which: which)
        }
        guard case .job(let job)? = chosen else { return nil }
        return .jobs(change, JobFilter(ids: [job.job]), which: "\(job.job) \(job.source)")
    }

    private func pause() -> WatchChange? {
        switch chosen {
        case .queue(let queue)?: return .pause(!queue.isPaused, queue: queue.name)
        case .worker(let worker)?:
            return .wish(worker.wish == .run ? .quiet : .run, worker: worker.worker, name: worker.name)
        case .job(let job)?:
            guard let queue = facts.queues.first(where: { $0.name == job.queue }) else { return nil }
            return .pause(!queue.isPaused, queue: queue.name)
        case nil: return nil
        }
    }

    private func jobsConcerned(by what: WatchChange) -> Int {
        switch what {
        case .pause(_, let name):
            facts.queues.first { $0.name == name }.map { $0.jobs.waiting + $0.jobs.delayed } ?? 0
        case .wish(_, let worker, _): facts.workers.first { $0.worker == worker }?.holds ?? 0
        case .jobs: 0
        }
    }
}

/// Why something failed, in one line.
struct WatchFailure: Error, Hashable {
    let text: String

    init(_ error: any Error) {
        text =
            switch error {
            case let error as LedgerError:
                "\(error.detail) (\(error.code.rawValue))"
                    + (error.mayHaveHappened ? "; it may have taken effect" : "")
            case let refusal as Refusal: refusal.message
            default: "\(error)"
            }
    }
}
