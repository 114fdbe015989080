extension String {
    /// As it can be shown whatever it holds: control characters, those that turn the direction of writing, and those that cannot be
    /// seen are escaped.
    ///
    /// Names and tags come out of other people's files. Raw, they could move the cursor, forge a line, or look like another name.
    package var plain: String {
        let scalars = unicodeScalars
        guard scalars.contains(where: { $0.isUnprintable || $0.isJoiner }) else { return self }
        var text = ""
        for place in scalars.indices {
            let scalar = scalars[place]
            // Between letters of scripts that need them, and in emoji, joiners change what is seen.
            let joins = scalar.isJoiner && place > scalars.startIndex && !scalars[scalars.index(before: place)].isASCII
            if scalar.isUnprintable || scalar.isJoiner && !joins {
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
        // Direction marks, embeddings, overrides, isolates, spaces without width and tags. Signs of numbers in Arabic and other
        // scripts are of the category as well and can be seen.
        case .format:
            switch value {
            case 0xAD, 0x061C, 0x180E, 0x200B, 0x200E...0x200F, 0x202A...0x202E, 0x2060...0x206F, 0xFEFF,
                0xFFF9...0xFFFB,
                0xE0001...0xE007F:
                true
            default: false
            }
        default: false
        }
    }

    /// Joins the letters beside it, or keeps them apart, and is not seen itself.
    fileprivate var isJoiner: Bool { value == 0x200C || value == 0x200D }
}
