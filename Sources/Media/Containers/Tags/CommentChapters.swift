import Conversion

/// Chapters as Vorbis comments: a time in whole milliseconds, and a title beside it.
enum CommentChapters {
    static func tags(_ chapters: [Chapter]) -> [Tag] {
        var tags: [Tag] = []
        for (index, chapter) in chapters.enumerated() {
            guard let start = chapter.startTicks(1_000) else { continue }
            let key = "CHAPTER" + padded(Int64(index), 3)
            tags.append(Tag(key: key, value: text(start)))
            if let title = chapter.title, !title.isEmpty { tags.append(Tag(key: key + "NAME", value: title)) }
        }
        return tags
    }

    /// `20:00:00.000`
    private static func text(_ milliseconds: Int64) -> String {
        let seconds = milliseconds / 1_000
        let (hours, minutes) = (padded(seconds / 3_600, 2), padded(seconds / 60 % 60, 2))
        return "\(hours):\(minutes):\(padded(seconds % 60, 2)).\(padded(milliseconds % 1_000, 3))"
    }

    static func padded(_ number: Int64, _ digits: Int) -> String {
        let text = "\(number)"
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
