import Conversion
import Synchronization

/// What a command can say about its progress at one moment.
package protocol ProgressRecord {
    associatedtype Event: Encodable

    /// The time since the work began.
    var passed: Duration { get }
    /// One line for people, with a bar if one fits.
    func bar(on outlet: Outlet) -> String
    /// One line for people, without a bar.
    var line: String { get }
    /// `key=value` for programs.
    var values: [String] { get }
    /// For programs. It holds only finite numbers and text, which can always be encoded.
    func event(_ state: String) -> Event
}

/// Writes progress on standard error in the style that the user chose, as often as its reader needs it.
package final class ProgressWriter: Sendable {
    private let outlet: Outlet
    private let manner: Manner
    /// When the next line or block is due, counted from the start of the work.
    private let nextDue: Mutex<Duration>

    private enum Manner { case bar, lines, plain, json, none }

    package init(_ style: ProgressStyle, outlet: Outlet) {
        self.outlet = outlet
        let manner: Manner =
            switch style {
            case .auto: outlet.isTerminal ? .bar : .lines
            case .bar: .bar
            case .plain: .plain
            case .json: .json
            case .none: .none
            }
        self.manner = manner
        // A bar appears only after 0.2 s, a line only after 10 s: shorter work needs neither.
        nextDue = Mutex(manner == .lines ? .seconds(10) : manner == .bar ? .milliseconds(200) : .zero)
    }

    /// Whether a person reads the progress.
    package var isForPeople: Bool { manner == .bar || manner == .lines }

    /// Writes only when an update is due; callers may call it often.
    package func show(_ record: some ProgressRecord) {
        let passed = record.passed
        let isDue = nextDue.withLock { nextDue in
            guard manner != .none, passed >= nextDue else { return false }
            nextDue = passed + (manner == .lines ? .seconds(10) : manner == .bar ? .zero : .milliseconds(500))
            return true
        }
        guard isDue else { return }
        switch manner {
        case .bar: outlet.draw(bar: record.bar(on: outlet))
        case .lines: write(record.line + "\n")
        case .plain, .json: write(record, plain: "continue", json: "running")
        case .none: break
        }
    }

    /// Writes the last record for programs; erases a bar.
    package func finish(_ record: some ProgressRecord) {
        clear()
        write(record, plain: "end", json: "completed")
    }

    /// Erases the bar, before a line of data or for good.
    package func clear() { outlet.eraseBar() }

    private func write(_ record: some ProgressRecord, plain: String, json: String) {
        if manner == .plain { write((record.values + ["progress=\(plain)"]).joined(separator: "\n") + "\n") }
        // An event can always be encoded.
        if manner == .json, let line = try? JSONText.line(record.event(json)) { write(line + "\n") }
    }

    private func write(_ text: String) {
        do throws(Outlet.Failure) {
            try outlet.write(text)
        } catch {
            // The reader is gone; the work goes on.
        }
    }
}

extension Outlet {
    /// The columns of a line with a progress bar. Leaves space for the ^C or ^Z that the terminal echoes: a line
    /// that they wrapped could not be erased.
    package var barWidth: Int { max(1, width - 3) }

    /// A bar and the facts behind it, or only the facts if no bar fits. `title` stands in front.
    package func bar(_ share: Double?, title: String? = nil, _ facts: String) -> String {
        let head = title.map { $0 + "  " } ?? ""
        let columns = barWidth - head.displayWidth - facts.displayWidth - 2
        guard let share, columns >= 8 else { return (head + facts).shortened(to: barWidth, unicode: usesUnicode) }
        return head + Bar.text(share, columns: min(columns, 40), unicode: usesUnicode) + "  " + facts
    }
}
