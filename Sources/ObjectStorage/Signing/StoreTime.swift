import FoundationEssentials

/// A moment in whole seconds, in the forms in which object stores write one.
package struct StoreTime: Sendable, Hashable, Comparable {
    /// Since the beginning of 1970, in UTC.
    package var seconds: Int64

    package init(seconds: Int64) { self.seconds = seconds }

    /// For the stamp of a source. A list, HEAD and GET tell one time of an object, so that its stamp is the same however it was
    /// found.
    package var nanoseconds: Int64 {
        let (product, isTooFar) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return isTooFar ? .max : product
    }

    /// The time of this machine's clock.
    package static func now() -> StoreTime { StoreTime(seconds: Int64(Date().timeIntervalSince1970.rounded(.down))) }

    package static func < (one: StoreTime, other: StoreTime) -> Bool { one.seconds < other.seconds }

    package func advanced(by duration: Duration) -> StoreTime {
        StoreTime(seconds: seconds + duration.components.seconds)
    }

    /// As signatures have it: `20130524T000000Z`.
    package var compact: String {
        let (year, month, day, rest) = parts
        return Self.padded(year, 4) + Self.padded(month, 2) + Self.padded(day, 2) + "T" + Self.padded(rest / 3_600, 2)
            + Self.padded(rest / 60 % 60, 2) + Self.padded(rest % 60, 2) + "Z"
    }

    /// The day of `compact`.
    package var day: String { String(compact.prefix(8)) }

    /// Reads `20130524T000000Z`, `2013-05-24T00:00:00Z` and the latter with a fraction, which is cut off, or with the
    /// difference of a time zone. `nil` for anything else.
    package init?(iso8601 text: some StringProtocol) {
        let digits = text.utf8.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: ":") }
        guard digits.count >= 16, digits[8] == UInt8(ascii: "T") else { return nil }
        func number(_ range: Range<Int>) -> Int? { Self.number(digits[range]) }
        guard let year = number(0..<4), let month = number(4..<6), let day = number(6..<8), let hour = number(9..<11),
            let minute = number(11..<13), let second = number(13..<15)
        else { return nil }
        // The end of the text, with the separators of its time zone.
        let bytes = Array(text.utf8)
        var zone = 0
        if bytes.last != UInt8(ascii: "Z"), bytes.last != UInt8(ascii: "z") {
            // Some tools write `UTC` instead.
            if !text.hasSuffix("UTC") {
                guard bytes.count > 6 else { return nil }
                let end = bytes.suffix(6)
                guard end.count == 6, let sign = end.first,
                    sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"),
                    end[end.startIndex + 3] == UInt8(ascii: ":"),
                    let hours = Self.number(end[(end.startIndex + 1)..<(end.startIndex + 3)]),
                    let minutes = Self.number(end.suffix(2))
                else { return nil }
                zone = (hours * 3_600 + minutes * 60) * (sign == UInt8(ascii: "-") ? -1 : 1)
            }
        }
        self.init(year, month, day, hour, minute, second)
        seconds -= Int64(zone)
    }

    /// Reads the date of an HTTP header, as in `Fri, 24 May 2013 00:00:00 GMT`.
    package init?(httpDate text: some StringProtocol) {
        let words: [String] = text.split { $0 == " " }.map { String($0) }
        guard words.count == 6, words[5] == "GMT", let day = Int(words[1]), let year = Int(words[3]),
            let month = Self.months.firstIndex(of: words[2])
        else { return nil }
        let clock = words[4].split(separator: ":").map { Int($0) }
        guard clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2] else { return nil }
        self.init(year, month + 1, day, hour, minute, second)
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private init?(_ year: Int, _ month: Int, _ day: Int, _ hour: Int, _ minute: Int, _ second: Int) {
        guard (1970...9999).contains(year), (1...12).contains(month), (1...31).contains(day), (0...23).contains(hour),
            (0...59).contains(minute), (0...60).contains(second)
        else { return nil }
        let days = Self.days(year, month, day)
        seconds = Int64(days * 86_400 + hour * 3_600 + minute * 60 + second)
    }

    /// The days from 1970 to a date of the Gregorian calendar. Years begin in March here, so that a leap day is the last.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let year = month > 2 ? year : year - 1
        let era = year / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// Year, month, day and the seconds of the day.
    private var parts: (year: Int, month: Int, day: Int, rest: Int) {
        let whole = Int(max(0, min(seconds, 253_402_300_799)))
        let shifted = whole / 86_400 + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, day, whole % 86_400)
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        guard digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    private static func padded(_ number: Int, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }
}
