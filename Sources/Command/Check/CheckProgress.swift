import Console
import Conversion

/// The progress of a check, for standard error.
struct CheckProgress: ProgressRecord {
    let tally: OutputCheck.Tally
    let passed: Duration

    private var share: Double { min(1, Double(tally.done) / Double(max(1, tally.total))) }
    private var percent: String { "\(Int(share * 100))%".aligned(to: 4) }

    func bar(on outlet: Outlet) -> String { outlet.bar(share, "\(percent)   \(facts)") }

    var line: String { "\(percent)  \(facts)" }

    /// `3,851 of 12,404 outputs  2 damaged  94 files/s  2 min left`
    private var facts: String {
        var facts = ["\(Figures.grouped(tally.done)) of \(Figures.count(tally.total, "output"))"]
        if tally.damaged > 0 { facts.append("\(Figures.grouped(tally.damaged)) damaged") }
        if tally.done > 0, passed >= .seconds(1) {
            facts += TimeWords.pace(Double(tally.done) / passed.seconds, left: Double(max(0, tally.total - tally.done)))
        }
        return facts.joined(separator: "  ")
    }

    var values: [String] { ["done=\(tally.done)", "total=\(tally.total)", "damaged=\(tally.damaged)"] }

    struct Event: Encodable {
        let state: String
        let done: Int
        let total: Int
        let damaged: Int
    }

    func event(_ state: String) -> Event {
        Event(state: state, done: tally.done, total: tally.total, damaged: tally.damaged)
    }
}
