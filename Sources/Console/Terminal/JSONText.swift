package import FoundationEssentials

/// Values for programs: one line of JSON, with sorted keys.
package enum JSONText {
    package static func line(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(date.formatted(.iso8601WithMilliseconds))
        }
        return String(decoding: try encoder.encode(value), as: UTF8.self).printableAsJSON
    }
}

extension FormatStyle where Self == Date.ISO8601FormatStyle {
    /// `2026-11-20T09:31:04.125Z`
    package static var iso8601WithMilliseconds: Date.ISO8601FormatStyle { .init(includingFractionalSeconds: true) }
}
