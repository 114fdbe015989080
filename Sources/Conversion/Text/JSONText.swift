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

    /// The members of a value that is an object in JSON.
    package static func members(_ value: some Encodable) throws -> [String: JSONValue] {
        JSONValue(json: Array(try line(value).utf8))?.members ?? [:]
    }

    /// Reads what `line` has written. Throws a `DecodingError` if it is anything else.
    package static func read<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            let container = try decoder.singleValueContainer()
            let text = try container.decode(String.self)
            // `try?`: why it is not a time does not matter.
            guard let date = try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "is not a time")
            }
            // Into the millisecond, at whose very beginning a `Double` may lie before it.
            return date.addingTimeInterval(0.000_2)
        }
        return try decoder.decode(type, from: Data(bytes))
    }
}

extension FormatStyle where Self == Date.ISO8601FormatStyle {
    /// `2026-11-20T09:31:04.125Z`
    package static var iso8601WithMilliseconds: Date.ISO8601FormatStyle { .init(includingFractionalSeconds: true) }
}

extension String {
    /// One line of JSON that is safe to show. JSON permits 8-bit control characters and direction marks, which
    /// terminals obey. Their escapes mean the same to a program.
    var printableAsJSON: String {
        guard unicodeScalars.contains(where: \.isUnprintable) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            if scalar.isUnprintable {
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
