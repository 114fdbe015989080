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
        [
            reader.demuxer.hidesTags ? TagCap.remark : reader.tagsAreCut ? TagCollector.remark : nil,
            remark(
                ofChapters: lostChapters + count(withoutPlace: chapters, in: format, inStream: inStream),
                behindEnd: behindEnd
            ),
            values(reader.repeatedTags, as: format, setting: settingTags, inStream: inStream),
            pictures(reader.demuxer, reader.description.pictures.count, in: format.container, inStream: inStream),
        ]
        .compactMap { $0 }
    }

    /// The same for an output that has nothing of the source but what the caller sets: `chapters`, so many of them behind the
    /// end, and tags.
    static func remarks(
        ofSet chapters: [Chapter],
        behindEnd: Int,
        settingTags: [String: Recipe.TagValues],
        as format: ResolvedFormat,
        inStream: Bool
    ) -> [Remark] {
        [
            remark(
                ofChapters: count(withoutPlace: chapters, in: format, inStream: inStream),
                behindEnd: behindEnd
            ),
            values([], as: format, setting: settingTags, inStream: inStream),
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

    private static func values(
        _ repeated: [KnownTags.Repeated],
        as format: ResolvedFormat,
        setting settingTags: [String: Recipe.TagValues],
        inStream: Bool
    ) -> Remark? {
        func keeps(_ name: String) -> Bool { !inStream && format.rules.keepsValues(of: name) }
        let set = Set(settingTags.keys.map(TagTable.commonName(ofKey:)))
        let old = repeated.filter { tag in
            !set.contains(TagTable.commonName(ofKey: tag.name)) && !(tag.isApart && keeps(tag.name))
        }
        let new = settingTags.sorted { $0.key < $1.key }.filter { name, values in
            values.all.count > 1 && !keeps(name) && format.container.stores(tag: name, inStream: inStream)
        }
        let repeated = (old + new.map { .init(name: $0.key.lowercased(), count: $0.value.all.count, isApart: true) })
            .filter { !Container.describesItself(byTag: $0.name) }
        guard !repeated.isEmpty else { return nil }
        let names = repeated.map { "\($0.name) (\($0.count))" }.joined(separator: ", ")
        let lost = repeated.reduce(0) { $0 + $1.count - 1 }
        return Remark(.tagValues, "tags with several values are carried over as one: \(names)", count: Int64(lost))
    }

    /// Outputs hold pictures only of the kinds that all players show. The loss of the cover is told elsewhere.
    private static func pictures(_ demuxer: Demuxer, _ known: Int, in container: Container, inStream: Bool) -> Remark? {
        let holdsNone = container.coverPlace == .none || inStream
        let kept = holdsNone ? min(known, 1) : known
        let covers = demuxer.streams.filter(\.isCover)
        let (lost, unread) = (covers.count - kept, max(0, covers.count - Reader.mostPictures))
        guard lost > 0 else { return nil }
        let odd = covers.prefix(Reader.mostPictures).count { stream in
            stream.attachedPicture.map(Picture.hasImpossibleSides) ?? false
        }
        let pictures = "\(Plural.count(lost, "picture")) \(Plural.past(lost))"
        var reasons: [String] = []
        if holdsNone { reasons.append("\(container.title) holds none") }
        if !holdsNone, lost > unread + odd { reasons.append("outputs can hold only PNG and JPEG") }
        if !holdsNone, odd > 0 { reasons.append("sides must have 1 to \(Picture.sides.upperBound) pixels") }
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
