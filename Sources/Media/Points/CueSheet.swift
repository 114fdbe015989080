import Conversion

/// A CUE sheet as text, as tags hold it. Times are minutes, seconds and 75ths of a second.
struct CueSheet {
    private(set) var stated = StatedPoints()

    /// `rate` is that of the track.
    init(_ text: String, rate: Int) {
        var (track, title, performer): (Int64?, String?, String?) = (nil, nil, nil)
        var files = 0
        // Real sheets have less than a thousand lines.
        for line in text.utf8.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }).prefix(Self.mostLines) {
            let words = Self.words(in: Substring(line))
            guard let name = words.first?.uppercased() else { continue }
            if name == "FILE" {
                files += 1
                // The times of another file are not those of this one.
                if files > 1 { return }
            } else if name == "TRACK" {
                (track, title, performer) = (words.count > 1 ? Int64(words[1]) : nil, nil, nil)
            } else if name == "TITLE", track != nil, words.count > 1 {
                title = words.dropFirst().joined(separator: " ")
            } else if name == "PERFORMER", track != nil, words.count > 1 {
                performer = words.dropFirst().joined(separator: " ")
            } else if name == "INDEX", words.count > 2, let number = Int64(words[1]), let parts = Self.time(words[2]) {
                let place = Self.frame(parts, rate)
                if number == 1 { stated.chapterFrames.insert(place.frame) }
                let names = [performer, title].compactMap { $0 }.joined(separator: " - ")
                let start = "track \(track ?? 0)" + (names.isEmpty ? "" : ": \(names)")
                let text = number == 1 ? start : "track \(track ?? 0), index \(number)"
                stated.add(
                    SourcePoint(
                        number == 1 ? .cueTrack : .cueIndex,
                        at: place.frame,
                        text: PointText.bounded(text),
                        isRounded: !place.isExact
                    )
                )
            }
        }
    }

    private static let mostLines = 4 * PointReport.mostOfKind

    /// Words between spaces; one in quotation marks may hold spaces. An accent may follow a quotation mark, so that
    /// characters are looked at in their parts.
    private static func words(in line: Substring) -> [String] {
        var (words, word, isQuoted): ([String], String.UnicodeScalarView?, Bool) = ([], nil, false)
        for scalar in line.unicodeScalars.prefix(1_000) {
            if scalar == "\"" {
                isQuoted.toggle()
                word = word ?? .init()
            } else if scalar.properties.isWhitespace, !isQuoted {
                if let whole = word { words.append(String(whole)) }
                word = nil
            } else {
                word = word ?? .init()
                word?.append(scalar)
            }
        }
        return words + (word.map { [String($0)] } ?? [])
    }

    /// The 75ths of a second; `nil` if that is no time.
    private static func time(_ word: String) -> Int64? {
        let parts = word.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, parts.allSatisfy({ (1...9).contains($0.count) && $0.allSatisfy(\.isASCII) }) else {
            return nil
        }
        let numbers = parts.compactMap { UInt32($0) }.map { Int64($0) }
        guard numbers.count == 3, numbers[1] < 60, numbers[2] < 75 else { return nil }
        return (numbers[0] * 60 + numbers[1]) * 75 + numbers[2]
    }

    private static func frame(_ parts: Int64, _ rate: Int) -> (frame: Int64, isExact: Bool) {
        let (whole, rest) = (Int128(parts) * Int128(rate)).quotientAndRemainder(dividingBy: 75)
        return (Int64(clamping: whole + (rest * 2 >= 75 ? 1 : 0)), rest == 0)
    }
}
