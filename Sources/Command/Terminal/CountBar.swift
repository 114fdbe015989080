/// A progress bar for a count. Draws only on a terminal.
final class CountBar {
    private let whole: Int
    private let noun: String
    private let outlet: Outlet
    private var isDrawn = false

    init(of whole: Int, _ noun: String, outlet: Outlet) { (self.whole, self.noun, self.outlet) = (whole, noun, outlet) }

    func show(_ done: Int) {
        guard outlet.isTerminal, done > 0 else { return }
        let bar = Bar.text(Double(done) / Double(max(1, whole)), columns: 20, unicode: outlet.usesUnicode)
        write("\r\u{1B}[K\(bar)  \(Figures.grouped(done)) of \(Figures.count(whole, noun))")
        isDrawn = true
    }

    func clear() { if isDrawn { write("\r\u{1B}[K") } }

    private func write(_ text: String) {
        do throws(Outlet.Failure) {
            try outlet.write(text)
        } catch {
            // The terminal is gone; the work goes on.
        }
    }
}
