package import FoundationEssentials
import Glibc

/// A point in time as a user gives it: relative to now, or as a date.
package enum Moment: Sendable, Hashable {
    case distance(Duration)
    case date(Date)

    /// The time that far before `now`, or the date.
    package func past(from now: Date) -> Date {
        switch self {
        case .distance(let distance): now.addingTimeInterval(-(distance / .seconds(1)))
        case .date(let date): date
        }
    }

    /// The time that far after `now`, or the date.
    package func future(from now: Date) -> Date {
        switch self {
        case .distance(let distance): now.addingTimeInterval(distance / .seconds(1))
        case .date(let date): date
        }
    }
}

extension ValueType where Value == Duration {
    /// `90`, `90s`, `5min`, `2h`, `3d`
    package static let duration = ValueType(placeholder: "TIME") { text throws(Misfit) in
        guard let duration = Duration(words: text) else {
            throw Misfit(why: "must be a duration, as in 90s, 5min, 2h or 3d")
        }
        return duration
    }
}

extension ValueType where Value == Moment {
    /// `2h`, `2026-11-20`, `2026-11-20T09:30`, `2026-11-20T09:30:00Z`
    package static let moment = ValueType(placeholder: "TIME") { text throws(Misfit) in
        if let duration = Duration(words: text), text.last?.isLetter == true { return .distance(duration) }
        if let date = CalendarText.date(text) { return .date(date) }
        throw Misfit(
            why: "is not a time",
            hint: "as in 30min, 2h, 3d, 2026-11-20, 2026-11-20T09:30 or 2026-11-20T09:30:00Z"
        )
    }
}

extension Duration {
    /// Parses a whole number of seconds, minutes, hours, days or weeks; without a unit, seconds.
    fileprivate init?(words: String) {
        let digits = words.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int64(digits), number < 1_000_000_000 else { return nil }
        switch words.dropFirst(digits.count) {
        case "", "s": self = .seconds(number)
        case "min", "m": self = .seconds(number * 60)
        case "h": self = .seconds(number * 3600)
        case "d": self = .seconds(number * 86_400)
        case "w": self = .seconds(number * 604_800)
        default: return nil
        }
    }
}

/// Dates in ISO 8601 format, with or without a time and a zone.
enum CalendarText {
    /// A time without a zone is in this machine's zone.
    static func date(_ text: String) -> Date? {
        let bytes = Array(text.utf8)
        func number(_ range: Range<Int>) -> Int32? {
            guard range.upperBound <= bytes.count else { return nil }
            return bytes[range].reduce(0 as Int32?) { sum, byte in
                guard let sum, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
                return sum * 10 + Int32(byte - UInt8(ascii: "0"))
            }
        }
        func sign(_ place: Int, _ allowed: String) -> Bool {
            place < bytes.count && allowed.utf8.contains(bytes[place])
        }
        guard let year = number(0..<4), sign(4, "-"), let month = number(5..<7), sign(7, "-"), let day = number(8..<10),
            (1...12).contains(month), (1...31).contains(day)
        else { return nil }
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday, parts.tm_isdst) = (year - 1900, month - 1, day, -1)
        var place = 10
        if place < bytes.count {
            guard sign(10, "T "), let hour = number(11..<13), sign(13, ":"), let minute = number(14..<16), hour < 24,
                minute < 60
            else { return nil }
            (parts.tm_hour, parts.tm_min) = (hour, minute)
            place = 16
            if sign(16, ":") {
                guard let second = number(17..<19), second < 61 else { return nil }
                parts.tm_sec = second
                place = 19
            }
        }
        let wanted = parts
        func isThere(_ made: tm) -> Bool { made.tm_mon == wanted.tm_mon && made.tm_mday == wanted.tm_mday }
        if place == bytes.count {
            tzset()
            let seconds = mktime(&parts)
            // mktime would silently turn the 31st of a month with 30 days into the first of the next.
            return isThere(parts) ? Date(timeIntervalSince1970: Double(seconds)) : nil
        }
        parts.tm_isdst = 0
        let seconds = timegm(&parts)
        guard place > 10, isThere(parts), let offset = offset(bytes[place...], number) else { return nil }
        return Date(timeIntervalSince1970: Double(seconds - offset))
    }

    /// Seconds east of Greenwich: `Z`, `+01:00`, `-0530`.
    private static func offset(_ zone: ArraySlice<UInt8>, _ number: (Range<Int>) -> Int32?) -> Int? {
        guard let first = zone.first else { return nil }
        if first == UInt8(ascii: "Z") { return zone.count == 1 ? 0 : nil }
        let start = zone.startIndex
        let hasColon = zone.count == 6 && zone[start + 3] == UInt8(ascii: ":")
        guard first == UInt8(ascii: "+") || first == UInt8(ascii: "-"), hasColon || zone.count == 5,
            let hours = number(start + 1..<start + 3),
            let minutes = number(hasColon ? start + 4..<start + 6 : start + 3..<start + 5), hours < 24, minutes < 60
        else { return nil }
        let seconds = Int(hours) * 3600 + Int(minutes) * 60
        return first == UInt8(ascii: "-") ? -seconds : seconds
    }
}
