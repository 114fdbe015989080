package import FoundationEssentials
import Glibc

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
    package static func pace(_ filesPerSecond: Double, left files: Int) -> [String] {
        [
            "\(Figures.decimals(filesPerSecond, filesPerSecond < 10 ? 1 : 0)) files/s",
            "\(span(seconds: Double(files) / filesPerSecond)) left",
        ]
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

    /// `20 Nov 09:12` in this machine's time zone, with the year if it is not the current one.
    package static func moment(_ date: Date, at now: Date) -> String {
        let (time, today) = (local(date), local(now))
        let year = time.tm_year == today.tm_year ? "" : " \(time.tm_year + 1900)"
        return "\(day(time))\(year) \(two(time.tm_hour)):\(two(time.tm_min))"
    }

    /// `09:31:04`, preceded by the day if that is not today.
    package static func clock(_ date: Date, at now: Date) -> String {
        let (time, today) = (local(date), local(now))
        let isToday = time.tm_year == today.tm_year && time.tm_yday == today.tm_yday
        return (isToday ? "" : day(time) + " ") + "\(two(time.tm_hour)):\(two(time.tm_min)):\(two(time.tm_sec))"
    }

    private static func day(_ time: tm) -> String {
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        return "\(time.tm_mday) \(months[Int(time.tm_mon)])"
    }

    private static func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private static func local(_ date: Date) -> tm {
        // localtime_r need not read TZ by itself.
        tzset()
        var (seconds, parts) = (time_t(date.timeIntervalSince1970.rounded(.down)), tm())
        localtime_r(&seconds, &parts)
        return parts
    }
}

extension Duration {
    package var seconds: Double { self / .seconds(1) }
}
