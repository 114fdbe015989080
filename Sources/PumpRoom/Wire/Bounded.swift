import Conversion

/// How much text and how many items a message of a room may carry. What is beyond is left out, and says so.
///
/// Held by both ends: the room shortens, so that no message is too large; the slot does so again, because it trusts none.
enum Bound {
    /// Bytes of a sentence: message, hint, libav's text.
    static let sentence = 1_500
    /// Bytes of a name: codecs, tags, digests, fields of a refusal.
    static let name = 200
    /// Bytes of a code or a stage.
    static let code = 40
    static let tags = 64
    static let stretches = 100
    static let refusals = 16
}

extension String {
    /// At most `limit` bytes of UTF-8, with an ellipsis in place of what was left out.
    func shortened(to limit: Int) -> String {
        guard utf8.count > limit else { return self }
        let end = utf8.index(startIndex, offsetBy: limit - 3)
        // A slice of scalars begins and ends between two of them.
        return String(unicodeScalars[..<end]) + "…"
    }
}

extension Failure {
    /// The failure with every text and list within its bound.
    var bounded: Failure {
        var failure = self
        failure.code = code.shortened(to: Bound.code)
        failure.stage = stage.shortened(to: Bound.code)
        failure.message = message.shortened(to: Bound.sentence)
        failure.libavName = libavName?.shortened(to: Bound.name)
        failure.libavText = libavText?.shortened(to: Bound.sentence)
        failure.hint = hint?.shortened(to: Bound.sentence)
        failure.refusals = refusals.map { reasons in
            reasons.prefix(Bound.refusals).map { reason in
                FormatRefusal.Reason(
                    field: reason.field.shortened(to: Bound.name),
                    value: reason.value.shortened(to: Bound.name),
                    why: reason.why.shortened(to: Bound.name),
                    allowed: reason.allowed.shortened(to: Bound.name),
                    hint: reason.hint?.shortened(to: Bound.name)
                )
            }
        }
        return failure
    }
}

extension SourceReport {
    /// The report with at most `count` tags and chapters, and texts of at most `bytes` bytes. What is left out is counted in
    /// the last of them.
    func bounded(count: Int, bytes: Int) -> SourceReport {
        var report = self
        report.container = container.shortened(to: Bound.name)
        report.tags = tags.prefix(count).map {
            TagReport(
                name: $0.name.shortened(to: Bound.name),
                value: $0.value.shortened(to: bytes),
                isTechnical: $0.isTechnical
            )
        }
        if tags.count > count {
            let rest = "\(tags.count - count) more"
            report.tags.append(TagReport(name: "…", value: rest, isTechnical: true))
        }
        report.chapters = chapters.prefix(count).map {
            ChapterReport(start: $0.start, end: $0.end, title: $0.title?.shortened(to: min(bytes, Bound.name)))
        }
        if let last = chapters.last, chapters.count > count {
            let rest = "… \(chapters.count - count) more"
            report.chapters.append(ChapterReport(start: chapters[count].start, end: last.end, title: rest))
        }
        report.scan?.damage.stretches = Array((scan?.damage.stretches ?? []).prefix(Bound.stretches))
        return report
    }
}

extension ConversionReport {
    /// The report with every text and list within its bound. Counts stay whole: `damage.stretchCount` still says how many
    /// stretches there are, and the last of too many lost tags how many more.
    var bounded: ConversionReport {
        var report = self
        report.source.codec = source.codec.shortened(to: Bound.name)
        report.digest = digest?.shortened(to: Bound.name)
        report.damage.stretches = damage.stretches.prefix(Bound.stretches).map { stretch in
            var stretch = stretch
            stretch.code = stretch.code.shortened(to: Bound.code)
            return stretch
        }
        if lostTags.count > Bound.tags {
            let listed = Bound.tags - 1
            report.lostTags = lostTags.prefix(listed) + ["… and \(lostTags.count - listed) more"]
        }
        report.lostTags = report.lostTags.map { $0.shortened(to: Bound.name) }
        return report
    }
}
