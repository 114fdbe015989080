import Conversion

/// A CUE sheet in a tag, whose tracks are chapters: times in 75ths of a second, and titles.
enum CueSheetTag {
    /// As players of WavPack call it. Other files have it in capital letters.
    private static let key = "Cuesheet"
    /// A sheet of 99 tracks with long titles. Of more text, a hostile file could have much.
    static let mostBytes = 128 * 1_024
    /// Players read no longer lines.
    private static let longestTitle = 1_000

    static func isSheet(_ tag: Tag) -> Bool { tag.key.lowercased() == "cuesheet" }

    /// The first sheet that describes one file; `nil` for none, and for one that cannot be read.
    static func list(in tags: [Tag]) -> ChapterList? {
        guard let tag = tags.first(where: isSheet), tag.value.utf8.count <= mostBytes else { return nil }
        // `try?`: a tag with mistakes is a text like others.
        return try? ChapterList(cueSheet: tag.value)
    }

    /// The tracks as chapters of sound that ends at `last`. A sheet with a track that begins behind the end belongs to
    /// other sound, as in a part that some program cut from an album.
    static func chapters(in tags: [Tag], upTo last: MediaTime?) -> [Chapter] {
        guard let marks = list(in: tags)?.marks, let lastStart = marks.last?.start else { return [] }
        if let last, lastStart >= last { return [] }
        return marks.indices.map { index in
            let start = marks[index].start
            let end = index + 1 < marks.count ? marks[index + 1].start : last ?? start
            return Chapter(start: start, end: end, title: marks[index].title)
        }
    }

    // MARK: Writing

    /// A sheet with these chapters; `nil` without any. Of those that begin at the same 75th of a second, it has the first.
    static func tag(_ chapters: [Chapter]) -> Tag? {
        var lines = ["FILE \"sound.wv\" WAVE"]
        var (last, number) = (Int64(-1), Int64(0))
        for chapter in chapters {
            guard let ticks = chapter.startTicks(75), ticks > last else { continue }
            (last, number) = (ticks, number + 1)
            lines.append("  TRACK \(CommentChapters.padded(number, 2)) AUDIO")
            let title = title(chapter)
            if !title.isEmpty { lines.append("    TITLE \"\(title)\"") }
            lines.append("    INDEX 01 \(time(ticks))")
        }
        return number == 0 ? nil : Tag(key: key, value: lines.joined(separator: "\r\n") + "\r\n")
    }

    /// Nothing can stand for a quotation mark or a new line.
    private static func title(_ chapter: Chapter) -> String {
        let short = String(decoding: chapter.shortTitle(bytes: longestTitle), as: UTF8.self)
        let plain = short.map { (letter: Character) -> Character in
            if letter == "\"" { return "'" }
            return letter.isNewline ? " " : letter
        }
        return String(plain)
    }

    /// `62:03:74`
    private static func time(_ ticks: Int64) -> String {
        let (seconds, rest) = ticks.quotientAndRemainder(dividingBy: 75)
        let parts = [seconds / 60, seconds % 60, rest]
        return parts.map { CommentChapters.padded($0, 2) }.joined(separator: ":")
    }
}
