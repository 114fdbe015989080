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
