import Foundation
import TestSupport

/// How often a test injects its fault: a few hundred times in ordinary runs, more in `make faults`.
enum Rounds {
    /// `SLUICE_FAULT_SCALE=5` multiplies the count by five.
    static func scaled(_ count: Int) -> Int {
        let scale = ProcessInfo.processInfo.environment["SLUICE_FAULT_SCALE"].flatMap { Double($0) } ?? 1
        return max(1, Int(Double(count) * scale))
    }
}

/// Prints a row of the table in docs/reliability.md.
enum FaultTable {
    static func note(_ fault: String, times: Int, _ counts: Checker.Counts) {
        let cells = [
            fault, "\(times)", "\(counts.jobs)", "\(counts.completed)", "\(counts.attempts)", "\(counts.lostAttempts)",
            "\(counts.spentBesides)",
        ]
        print("faults: | " + cells.joined(separator: " | ") + " |")
    }
}
