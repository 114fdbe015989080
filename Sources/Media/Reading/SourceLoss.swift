import Conversion

/// Parts of a source that an output lacks: chapters, additional values of a tag, additional pictures.
enum SourceLoss {
    /// `chapters` are those that the output can have, apart from so many that are lost, and so many that the caller sets
    /// behind its end. `settingTags` are the tags that the caller sets. Their old values do not count as lost.
    static func remarks(
        _ reader: Reader,
        as format: ResolvedFormat,
        chapters: [Chapter],
        lostChapters: Int = 0,
        behindEnd: Int = 0,
        settingTags: [String: Recipe.TagValues],
        inStream: Bool
    ) -> [Remark] {
        let loss = reader.loss
        return [
            loss.ofTags,
            remark(
                ofChapters: lostChapters + count(withoutPlace: chapters, in: format, inStream: inStream),
                behindEnd: behindEnd
            ),
            values(
                loss.without(settingTags, chapters: false).repeatedTags.filter { tag in
                    !(tag.isApart && keeps(tag.name, as: format, inStream: inStream))
                },
                as: format,
                setting: settingTags,
                inStream: inStream
            ),
            pictures(loss, in: format.container, inStream: inStream),
        ]
        .compactMap { $0 }
    }

    /// The same for an output that has nothing of the source but what the caller sets: `chapters`, so many of them behind the
    /// end, and tags. If another file gives them, `loss` is what its reader does not give.
    static func remarks(
        ofSet chapters: [Chapter],
        behindEnd: Int,
        settingTags: [String: Recipe.TagValues],
        givenWith loss: ReaderLoss? = nil,
        as format: ResolvedFormat,
        inStream: Bool
    ) -> [Remark] {
        // Values that the reader gives apart are among the tags that are set.
        let joined = loss?.repeatedTags.filter { !$0.isApart } ?? []
        return [
            loss?.ofTags,
            remark(
                ofChapters: (loss?.unreadChapters ?? 0) + count(withoutPlace: chapters, in: format, inStream: inStream),
                behindEnd: behindEnd
            ),
            values(joined, as: format, setting: settingTags, inStream: inStream),
            loss.flatMap { pictures($0, in: format.container, inStream: inStream) },
        ]
        .compactMap { $0 }
    }

    private static func count(withoutPlace chapters: [Chapter], in format: ResolvedFormat, inStream: Bool) -> Int {
        guard !inStream else { return chapters.count }
        let (rate, last) = (format.sampleRateHz, format.rules.lastChapterFrame)
        let first = chapters.prefix(format.container.mostChapters)
        return chapters.count - first.count { ($0.startTicks(rate) ?? 0) <= last }
    }

    /// The remark on so many chapters without a place, and so many others that begin behind the end.
    private static func remark(ofChapters withoutPlace: Int, behindEnd: Int) -> Remark? {
        let count = withoutPlace + behindEnd
        guard count > 0 else { return nil }
        var detail = "\(Plural.count(count, "chapter")) \(Plural.past(count)) not carried over"
        if behindEnd > 0 {
            let which = behindEnd < count ? "\(behindEnd) of them" : count == 1 ? "it" : "they"
            detail += ": the sound ends before \(which) \(behindEnd == 1 ? "begins" : "begin")"
        }
        return Remark(.chapters, detail, count: Int64(count))
    }

    private static func keeps(_ name: String, as format: ResolvedFormat, inStream: Bool) -> Bool {
        !inStream && format.rules.keepsValues(of: name)
    }

    /// The remark on values that become one text: of `old` tags, and of those that the caller sets.
    private static func values(
        _ old: [KnownTags.Repeated],
        as format: ResolvedFormat,
        setting settingTags: [String: Recipe.TagValues],
        inStream: Bool
    ) -> Remark? {
        let new = settingTags.sorted { $0.key < $1.key }.filter { name, values in
            values.all.count > 1 && !keeps(name, as: format, inStream: inStream)
                && format.container.stores(tag: name, inStream: inStream)
        }
        let repeated = (old + new.map { .init(name: $0.key.lowercased(), count: $0.value.all.count, isApart: true) })
            .filter { !Container.describesItself(byTag: $0.name) }
        guard !repeated.isEmpty else { return nil }
        let names = repeated.map { "\($0.name) (\($0.count))" }.joined(separator: ", ")
        let lost = repeated.reduce(0) { $0 + $1.count - 1 }
        return Remark(.tagValues, "tags with several values are carried over as one: \(names)", count: Int64(lost))
    }

    /// Outputs hold pictures only of the kinds that all players show. The loss of the cover is told elsewhere.
    private static func pictures(_ loss: ReaderLoss, in container: Container, inStream: Bool) -> Remark? {
        let holdsNone = container.coverPlace == .none || inStream
        let (all, known, odd) = loss.pictures
        let (lost, unread) = (all - (holdsNone ? min(known, 1) : known), max(0, all - Reader.mostPictures))
        guard lost > 0 else { return nil }
        let pictures = "\(Plural.count(lost, "picture")) \(Plural.past(lost))"
        var reasons: [String] = []
        if holdsNone { reasons.append("\(container.title) holds none") }
        if !holdsNone, lost > unread + odd { reasons.append("outputs can hold only PNG and JPEG") }
        if !holdsNone, odd > 0 { reasons.append("sides must have 1 to \(PictureHeader.sides.upperBound) pixels") }
        if !holdsNone, unread > 0 { reasons.append("only the first \(Reader.mostPictures) are read") }
        let reason = reasons.joined(separator: ", and ")
        return Remark(.cover, "\(pictures) not carried over: \(reason)", count: Int64(lost))
    }
}

extension [Remark] {
    /// The same remarks, those about a loss first.
    var lossesFirst: [Remark] { filter(\.kind.isLoss) + filter { !$0.kind.isLoss } }

    /// Throws `loss_refused` if any of them reports a loss.
    func refuseLoss(at stage: Failure.Stage) throws {
        let losses = filter(\.kind.isLoss)
        guard !losses.isEmpty else { return }
        throw MediaError(.lossRefused, at: stage, losses.map(\.detail).joined(separator: "; "))
    }
}
