extension String {
    /// The text, safe to display: control characters, characters that change the writing direction, and invisible
    /// characters are escaped.
    ///
    /// Names and tags come from untrusted files. Unescaped, they could move the cursor, forge a line, or imitate
    /// another name.
    package var plain: String {
        let scalars = unicodeScalars
        guard scalars.contains(where: { $0.isUnprintable || $0.isJoiner }) else { return self }
        var text = ""
        for place in scalars.indices {
            let scalar = scalars[place]
            // Joiners change what is seen between letters of scripts that need them, and in emoji.
            let joins = scalar.isJoiner && place > scalars.startIndex && !scalars[scalars.index(before: place)].isASCII
            if scalar.isUnprintable || scalar.isJoiner && !joins {
                text += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    /// The same for each line of a text; line feeds stay.
    package var plainLines: String {
        split(separator: "\n", omittingEmptySubsequences: false).map { String($0).plain }.joined(separator: "\n")
    }
}

extension Unicode.Scalar {
    /// Whether a terminal would act on the character or a line would end at it.
    package var isUnprintable: Bool {
        // ASCII is nearly all of the text. Looking up categories took an eighth of the time of an export.
        if isASCII { return value < 0x20 || value == 0x7F }
        return switch properties.generalCategory {
        case .control, .surrogate, .lineSeparator, .paragraphSeparator: true
        // Direction marks, embeddings, overrides, isolates, zero-width spaces and tags. Number signs of Arabic and
        // other scripts are in this category too, but they are visible.
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

    /// Whether the character is an invisible joiner: it joins the letters beside it, or keeps them apart.
    fileprivate var isJoiner: Bool { value == 0x200C || value == 0x200D }
}
