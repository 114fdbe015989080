import Conversion
package import FoundationEssentials
import Glibc

/// Times of this machine's time zone.
extension TimeWords {
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
