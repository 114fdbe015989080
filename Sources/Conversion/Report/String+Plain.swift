extension String {
    /// As it can be shown whatever it holds: control characters, and those that turn the direction of writing, are escaped.
    ///
    /// Names and tags come out of other people's files. Raw, they could move the cursor or forge a line.
    package var plain: String {
        guard unicodeScalars.contains(where: \.isUnprintable) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            if scalar.isUnprintable {
                text += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    /// The same, where lines are lines.
    package var plainLines: String {
        split(separator: "\n", omittingEmptySubsequences: false).map { String($0).plain }.joined(separator: "\n")
    }
}

extension Unicode.Scalar {
    /// Whether a terminal would obey it, or a line end at it.
    package var isUnprintable: Bool {
        // Nearly all there is; looking categories up took an eighth of the time of an export.
        if isASCII { return value < 0x20 || value == 0x7F }
        return switch properties.generalCategory {
        case .control, .surrogate, .lineSeparator, .paragraphSeparator: true
        // Direction marks, embeddings, overrides and isolates.
        case .format:
            (0x200E...0x200F).contains(value) || (0x202A...0x202E).contains(value)
                || (0x2066...0x2069).contains(value) || value == 0x061C
        default: false
        }
    }
}
