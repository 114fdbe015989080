import Foundation
import TestSupport

/// One table of the report: the measurements, and each row's target.
struct Section: Encodable {
    let name: String
    /// What was measured, in a few lines.
    let explanation: String
    let columns: [String]
    private(set) var rows: [Row] = []

    struct Row: Encodable {
        let cells: [String]
        /// The same as numbers, by name.
        let numbers: [String: Double]
        /// `ok` or `over`; empty if the row has no target.
        let verdict: String
    }

    init(_ name: String, _ explanation: String, columns: [String]) {
        (self.name, self.explanation, self.columns) = (name, explanation, columns)
    }

    /// Adds a row; `isWithin` is `nil` if the row has no target.
    mutating func add(_ cells: [String], numbers: [String: Double], isWithin: Bool?) {
        rows.append(Row(cells: cells, numbers: numbers, verdict: isWithin.map { $0 ? "ok" : "over" } ?? ""))
    }

    /// The explanation and a Markdown table.
    var text: String {
        let header = columns + [""]
        let body = rows.map { $0.cells + [$0.verdict] }
        let widths = header.indices.map { column in ([header] + body).map { $0[column].count }.max() ?? 0 }
        func line(_ cells: [String]) -> String {
            let padded = zip(cells, widths).enumerated().map { index, cell in
                // The first column is left-aligned, the others are right-aligned.
                index == 0 ? cell.0.filled(to: cell.1) : cell.0.filled(to: cell.1, fromLeft: true)
            }
            return "| " + padded.joined(separator: " | ") + " |"
        }
        let rule = widths.enumerated().map { $0 == 0 ? String(repeating: "-", count: $1) : rightRule($1) }
        return ([explanation, "", line(header), "| " + rule.joined(separator: " | ") + " |"] + body.map(line))
            .joined(separator: "\n")
    }

    private func rightRule(_ width: Int) -> String { String(repeating: "-", count: max(0, width - 1)) + ":" }
}

/// The report as a JSON file for programs.
enum Report {
    private struct Whole: Encodable {
        let isQuick: Bool
        let cores: Int
        let processor: String
        let sections: [Section]
    }

    static func write(_ sections: [Section], to path: String, isQuick: Bool) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        let whole = Whole(
            isQuick: isQuick,
            cores: ProcessInfo.processInfo.activeProcessorCount,
            processor: try ProcFile.value("model name", in: "/proc/cpuinfo") ?? "unknown",
            sections: sections
        )
        try Bytes.write([UInt8](encoder.encode(whole)), to: path)
    }
}

extension Double {
    /// The number with `digits` decimal places.
    func fixed(_ digits: Int) -> String { String(format: "%.\(digits)f", self) }
}

extension String {
    func filled(to width: Int, fromLeft: Bool = false) -> String {
        let space = String(repeating: " ", count: Swift.max(0, width - count))
        return fromLeft ? space + self : self + space
    }
}
