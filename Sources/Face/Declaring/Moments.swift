package import FoundationEssentials

/// Times in requests: RFC 3339.
package enum Moments {
    package static func date(_ text: String) -> Date? {
        // `try?`: a text that is no time in one form may be one in the other.
        (try? Date(text, strategy: .iso8601))
            ?? (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
    }
}
