import Conversion

/// A progress bar, drawn to an eighth of a column.
package enum Bar {
    package static func text(_ share: Double, columns: Int, unicode: Bool) -> String {
        let share = min(1, max(0, share))
        guard unicode else {
            let full = Int(share * Double(columns))
            return String(repeating: "#", count: full) + String(repeating: ".", count: columns - full)
        }
        let eighths = Int((share * Double(columns * 8)).rounded(.down))
        let part = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8]
        let bar = String(repeating: "█", count: eighths / 8) + part
        return bar.padded(to: columns)
    }
}

/// A progress bar for a count. Draws only on a terminal.
package final class CountBar {
    private let whole: Int
    private let noun: String
    private let outlet: Outlet

    package init(of whole: Int, _ noun: String, outlet: Outlet) {
        (self.whole, self.noun, self.outlet) = (whole, noun, outlet)
    }

    package func show(_ done: Int) {
        guard outlet.isTerminal, done > 0 else { return }
        let bar = Bar.text(Double(done) / Double(max(1, whole)), columns: 20, unicode: outlet.usesUnicode)
        let text = "\(bar)  \(Figures.grouped(done)) of \(Figures.count(whole, noun))"
        outlet.draw(bar: text)
    }

    package func clear() { outlet.eraseBar() }
}
