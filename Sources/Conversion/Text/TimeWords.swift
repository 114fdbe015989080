package import FoundationEssentials

/// Times in words, for people.
package enum TimeWords {
    /// `just now`, `34 s ago`, `2 min ago`, `3 h ago`, `5 d ago`.
    package static func ago(_ date: Date, at now: Date) -> String {
        let seconds = now.timeIntervalSince(date)
        return seconds < 10 ? "just now" : "\(span(seconds: seconds)) ago"
    }

    /// `now`, `in 34 s`, `in 2 min`.
    package static func ahead(_ date: Date, at now: Date) -> String {
        let seconds = date.timeIntervalSince(now)
        return seconds < 1 ? "now" : "in \(span(seconds: seconds))"
    }

    /// `94 files/s`, `2 min left`: how fast files are done, and how long the others take at that rate.
    package static func pace(_ filesPerSecond: Double, left files: Double) -> [String] {
        let left = "\(span(seconds: files / filesPerSecond)) left"
        // Of a few long files the time that is left tells more than 0.0.
        guard filesPerSecond >= 0.05 else { return [left] }
        return ["\(Figures.decimals(filesPerSecond, filesPerSecond < 10 ? 1 : 0)) files/s", left]
    }

    /// One unit, rounded down: `34 s`, `2 min`, `3 h`, `5 d`.
    package static func span(seconds: Double) -> String {
        guard seconds.isFinite, abs(seconds) < 1e12 else { return "-" }
        let whole = Int64(max(0, seconds))
        switch whole {
        case ..<60: return "\(whole) s"
        case ..<3600: return "\(whole / 60) min"
        case ..<86_400: return "\(whole / 3600) h"
        default: return "\(Figures.grouped(whole / 86_400)) d"
        }
    }
}

extension Duration {
    package var seconds: Double { self / .seconds(1) }
}
