import API
import Console
import Conversion
import FoundationEssentials
import Ledger

/// The terminal's character set and colours.
struct ScreenStyle: Sendable {
    var unicode = true
    var paint: @Sendable (String, Ink) -> String = { text, _ in text }

    /// A separating line with a word in it.
    func rule(_ word: String, columns: Int) -> String {
        let mark = unicode ? "─" : "-"
        let head = String(repeating: mark, count: 2) + (word.isEmpty ? "" : " \(word) ")
        return paint(
            (head + String(repeating: mark, count: max(0, columns - head.displayWidth))).clipped(to: columns),
            .faint
        )
    }

    var dot: String { unicode ? " · " : ", " }
}

/// The lines of the whole screen.
struct WatchPage {
    /// As many as the screen has rows, none wider than the screen.
    let lines: [String]
    /// How many rows of the list, or lines of the story, fit on the screen.
    let visibleRows: Int
    /// The last line at which the page of a story or of the help can start.
    let lastTop: Int

    init(_ state: WatchState, size: ScreenSize, style: ScreenStyle) {
        let page = Self.page(state, size, style)
        (visibleRows, lastTop) = (max(1, page.visible), page.lastTop)
        let filled = page.lines + Array(repeating: "", count: max(0, size.rows - page.lines.count))
        lines = filled.prefix(size.rows).map { $0.clipped(to: size.columns, unicode: style.unicode) }
    }

    private typealias Parts = (lines: [String], visible: Int, lastTop: Int)

    private static func page(_ state: WatchState, _ size: ScreenSize, _ style: ScreenStyle) -> Parts {
        func scrolled(_ lines: [String], from top: Int) -> Parts {
            let space = max(1, size.rows - 1)
            let last = max(0, lines.count - space)
            let foot = WatchFoot(state: state, columns: size.columns, style: style, scrolls: last > 0).line
            return (fill(Array(lines.dropFirst(min(top, last))), space) + [foot], space, last)
        }
        switch state.mode {
        case .help(let top): return scrolled(WatchHelp.lines(style, columns: size.columns), from: top)
        case .story(_, let lines, let top):
            return scrolled(lines.flatMap { $0.folded(to: size.columns, indent: 9) }, from: top)
        case .list, .typing, .counting, .asking: break
        }
        let foot = WatchFoot(state: state, columns: size.columns, style: style).line
        let overview = WatchOverview(state: state, size: size, style: style)
        let failures = overview.failures
        // On a small screen, the space goes to jobs.
        let rule = size.rows >= 24 ? [style.rule("", columns: size.columns)] : []
        let above = overview.lines + rule + [WatchTabs(state: state, columns: size.columns, style: style).line]
        // Minus the heading of the list and the foot.
        let space = size.rows - above.count - failures.count - 2
        let rows = WatchRows(state: state, columns: size.columns, style: style).lines(atMost: max(1, space))
        let list = fill(rows, max(1, space) + 1)
        return (above + list + failures + [foot], space, 0)
    }

    /// Exactly `count` lines.
    private static func fill(_ lines: [String], _ count: Int) -> [String] {
        lines.prefix(count) + Array(repeating: "", count: max(0, count - lines.count))
    }
}

/// The tabs of all lists, with the shown one marked.
struct WatchTabs {
    let state: WatchState
    let columns: Int
    let style: ScreenStyle

    var line: String {
        let choices = [tabs(counted: { _ in true }, gap: "   "), tabs(counted: { _ in true }, gap: "  ")]
        let narrow = [tabs(counted: { $0 == state.list }, gap: " "), numbers, here]
        return (choices + narrow).first { $0.shownWidth <= columns } ?? here
    }

    private func tabs(counted: (WatchList) -> Bool, gap: String) -> String {
        WatchList.allCases.map { list in
            let words = "\(list.rawValue) \(list.title)" + (counted(list) ? count(of: list) : "")
            return list == state.list ? style.paint("[\(words)]", .strong) : style.paint(words, .faint)
        }.joined(separator: gap)
    }

    /// `1 2 [3 failed 2] 4 5 6`
    private var numbers: String {
        WatchList.allCases.map { $0 == state.list ? here : style.paint("\($0.rawValue)", .faint) }.joined(
            separator: " "
        )
    }

    private var here: String {
        style.paint("[\(state.list.rawValue) \(state.list.title)\(count(of: state.list))]", .strong)
    }

    private func count(of list: WatchList) -> String {
        let (jobs, facts) = (state.facts.status.jobs, state.facts)
        let number =
            switch list {
            case .running: jobs.running + jobs.publishing
            case .waiting: jobs.waiting + jobs.delayed
            case .failed: jobs.failed
            case .ended: jobs.ended
            case .queues: facts.queues.count
            case .workers: facts.workers.count
            }
        return " " + Figures.grouped(number)
    }
}

/// The last line: a question, a message, or help for the keys.
struct WatchFoot {
    let state: WatchState
    let columns: Int
    let style: ScreenStyle
    /// Whether the page is longer than the screen.
    var scrolls = false

    var line: String {
        switch state.mode {
        case .typing(let text): return typed(text)
        case .counting: return style.paint("counting jobs; Esc cancels", .careful)
        case .asking(let what, let count): return asked(what.question(about: count).printable)
        case .help where scrolls: return hints([("esc", "back"), ("up/down", "move"), ("space", "next page")])
        case .help: return style.paint("press any key to go back", .faint)
        case .story: return hints([("esc", "back"), ("up/down", "move")])
        case .list: break
        }
        if let message = state.message {
            let text = message.text.printable.clipped(to: columns, unicode: style.unicode)
            return message.ink.map { style.paint(text, $0) } ?? text
        }
        if let change = state.change {
            let sofar = change.tally.map { ": \(change.what.done($0))" } ?? ""
            return style.paint("\(change.what.underWay)\(sofar)".printable, .careful)
        }
        return hints(usual)
    }

    /// The end of the typed text, if there is no space for all of it.
    private func typed(_ text: String) -> String {
        let head = "filter: "
        var shown = text.printable
        while shown.displayWidth > max(1, columns - head.count - 1), !shown.isEmpty { shown.removeFirst() }
        return style.paint(head, .strong) + shown + style.paint("_", .strong)
    }

    /// The choice of answers and the ledger must be visible, however long the question is.
    private func asked(_ question: String) -> String {
        let answers = "  y/N"
        var (place, space) = ("", columns - answers.count)
        if let context = state.context {
            let name = context.name.shortened(to: max(8, columns / 4), unicode: style.unicode)
            place = style.paint(name, context.ink) + ": "
            space -= name.displayWidth + 2
        }
        return place + style.paint(question.shortened(to: max(1, space), unicode: style.unicode), .careful)
            + style.paint(answers, .strong)
    }

    /// The most useful hints come first: if space is short, the last ones are dropped.
    private var usual: [(key: String, meaning: String)] {
        var hints = [("?", "help"), ("q", "quit")]
        if !state.filter.isEmpty { hints.append(("esc", "clear \(state.filter.words.printable)")) }
        switch state.list {
        case .running: hints += [("c", "cancel"), ("p", "pause queue")]
        case .waiting: hints += [("c", "cancel"), ("r", "run now"), ("p", "pause queue")]
        case .failed, .ended: hints.append(("r", "retry"))
        case .queues: hints.append(("p", isPaused ? "resume" : "pause"))
        case .workers: hints.append(("p", isPaused ? "resume" : "quiet"))
        }
        if state.list.isOfJobs { hints.append(("enter", "details")) }
        return hints + [("/", "filter"), ("tab", "next list")]
    }

    private var isPaused: Bool {
        switch state.chosen {
        case .queue(let queue)?: queue.isPaused
        case .worker(let worker)?: worker.wish != .run
        case .job?, nil: false
        }
    }

    private func hints(_ all: [(key: String, meaning: String)]) -> String {
        var (line, width) = ("", 0)
        for hint in all {
            let wide = hint.key.displayWidth + 1 + hint.meaning.displayWidth + (width == 0 ? 0 : 3)
            guard width + wide <= columns else { break }
            line += (width == 0 ? "" : "   ") + style.paint(hint.key, .strong) + " " + style.paint(hint.meaning, .faint)
            width += wide
        }
        return line
    }
}
