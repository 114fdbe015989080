import Conversion
import FoundationEssentials

extension String {
    /// With a capital letter at the beginning.
    var capitalised: String { prefix(1).uppercased() + dropFirst() }

    /// As a sentence: with a capital letter and a full stop.
    var sentence: String { last.map { ".?!".contains($0) } ?? true ? capitalised : capitalised + "." }

    /// The text as one word of a command line.
    var shellWord: String {
        let isPlain =
            !isEmpty
            && utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "-_./:,@%+=".utf8.contains(byte)
                }
            }
        return isPlain ? self : "'" + replacing("'", with: "'\\''") + "'"
    }
}

/// Times as the page shows them.
enum PageTime {
    /// `09:31:04`, in UTC; on another day than `now` with its date.
    static func clock(_ date: Date, at now: Date) -> HTML {
        let (text, today) = (date.formatted(.iso8601), now.formatted(.iso8601))
        let (day, time) = (String(text.prefix(10)), String(text.dropFirst(11).prefix(8)))
        let words = day == today.prefix(10) ? time : "\(day) \(time)"
        return "<time datetime=\"\(text)\">\(words)</time>"
    }

    /// `2 min ago`
    static func ago(_ date: Date, at now: Date) -> HTML {
        "<time datetime=\"\(date.formatted(.iso8601))\">\(TimeWords.ago(date, at: now))</time>"
    }

    /// `in 40 s`
    static func ahead(_ date: Date, at now: Date) -> HTML {
        "<time datetime=\"\(date.formatted(.iso8601))\">\(TimeWords.ahead(date, at: now))</time>"
    }
}

extension MediaTime {
    /// To a hundredth of a second.
    var short: String {
        let hundredths = converted(to: 100, rounding: .towardNegativeInfinity)
        return hundredths.isNumeric ? MediaTime(value: hundredths.value, timescale: 100).description : description
    }
}
