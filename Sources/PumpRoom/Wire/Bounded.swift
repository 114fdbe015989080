package import Conversion

/// Limits on the text and the number of items in a room's message. A message that leaves something out says so.
///
/// Both ends apply them: the room, so that no message is too large, and the slot, because it does not trust the room.
package enum Bound {
    /// Bytes of a sentence: message, hint, libav's text.
    static let sentence = 1_500
    /// Bytes of a name: codec, tag, digest or field of a refusal.
    package static let name = 200
    /// Bytes of a code or a stage.
    static let code = 40
    static let tags = 64
    static let stretches = 100
    static let remarks = 16
    static let refusals = 16
    static let presets = 64
    /// Rules of a spec.
    static let measured = 32
    /// Points of one message. Each has less than a kilobyte.
    package static let points = 100
    /// Channels of one point: no source has more.
    static let channels = 64
}

extension String {
    /// Untrusted text made safe for terminals and tables: at most `limit` bytes, and no control characters except
    /// line ends, which our own messages contain too.
    func told(to limit: Int) -> String { shortened(to: limit).plainLines.shortened(to: limit) }

    /// At most `limit` bytes of UTF-8, with an ellipsis in place of what was left out.
    func shortened(to limit: Int) -> String {
        guard utf8.count > limit else { return self }
        let end = utf8.index(startIndex, offsetBy: limit - 3)
        // Slicing by Unicode scalars never splits one.
        return String(unicodeScalars[..<end]) + "…"
    }
}

extension Failure {
    /// The failure with every text and list within its bound and without control characters.
    package var bounded: Failure {
        var failure = self
        failure.code = code.told(to: Bound.code)
        failure.stage = stage.told(to: Bound.code)
        failure.message = message.told(to: Bound.sentence)
        failure.libavName = libavName?.told(to: Bound.name)
        failure.libavText = libavText?.told(to: Bound.sentence)
        failure.hint = hint?.told(to: Bound.sentence)
        // A broken file can yield a position or a number that is impossible for sound.
        if let position, !FigureBound.holds(position) { failure.position = nil }
        if let frame, !FigureBound.holds(frames: frame) { failure.frame = nil }
        if let stream, !(0...FigureBound.stream).contains(stream) { failure.stream = nil }
        failure.refusals = refusals.map { reasons in
            reasons.prefix(Bound.refusals).map { reason in
                FormatRefusal.Reason(
                    field: reason.field.told(to: Bound.name),
                    value: reason.value.told(to: Bound.name),
                    why: reason.why.told(to: Bound.name),
                    allowed: reason.allowed.told(to: Bound.name),
                    hint: reason.hint?.told(to: Bound.name)
                )
            }
        }
        failure.contradiction = contradiction?.bounded
        return failure
    }
}

extension Contradiction {
    /// The same with every text within its bound and without control characters.
    fileprivate var bounded: Contradiction {
        var contradiction = self
        contradiction.rule = rule.told(to: Bound.code)
        contradiction.promised = promised?.told(to: Bound.name)
        contradiction.found = found.told(to: Bound.name)
        return contradiction
    }
}

extension SourceReport {
    /// The report with at most `count` tags and chapters and texts of at most `bytes` bytes. An extra last item
    /// says how many were left out.
    package func bounded(count: Int, bytes: Int) -> SourceReport {
        var report = self
        report.container = container.shortened(to: Bound.name)
        report.tags = tags.prefix(count).map { $0.bounded(count: count, bytes: bytes) }
        if tags.count > count {
            let rest = "\(tags.count - count) more"
            report.tags.append(TagReport(name: "…", value: rest, isTechnical: true))
            report.unlistedTags = tags.count - count
        }
        report.chapters = chapters.prefix(count).map {
            ChapterReport(start: $0.start, end: $0.end, title: $0.title?.shortened(to: min(bytes, Bound.name)))
        }
        if let last = chapters.last, chapters.count > count {
            let rest = "… \(chapters.count - count) more"
            report.chapters.append(ChapterReport(start: chapters[count].start, end: last.end, title: rest))
            report.unlistedChapters = chapters.count - count
        }
        report.pictures = pictures?.prefix(Bound.tags).map { picture in
            var picture = picture
            picture.shows = picture.shows?.shortened(to: Bound.name)
            return picture
        }
        report.unreadParts = unreadParts?.prefix(Bound.tags).map { $0.told(to: Bound.name) }
        report.tracks = tracks.map(\.bounded)
        report.presets = presets?.prefix(Bound.presets).map(\.bounded)
        report.points = points?.bounded
        // Messages of their own have them.
        report.points?.points = []
        report.silences = silences.map { Array($0.prefix(SourceReport.mostSilences + 1)) }
        report.scan = scan.map {
            ScanReport(frames: $0.frames.bounded(to: FigureBound.frames), damage: $0.damage.bounded, sound: $0.sound)
        }
        return report
    }
}

extension TagReport {
    /// The same with at most `count` values, and texts of at most `bytes` bytes. Says if that is not all.
    fileprivate func bounded(count: Int, bytes: Int) -> TagReport {
        var tag = self
        tag.name = name.shortened(to: Bound.name)
        tag.commonName = commonName?.shortened(to: Bound.name)
        tag.value = value.shortened(to: bytes)
        tag.values = values?.bounded(count: count, bytes: bytes)
        // Several values are whole even if the text of all of them is not.
        if tag.name != name || (values == nil ? tag.value != value : tag.values != values) { tag.isShortened = true }
        return tag
    }
}

extension [String] {
    /// At most `count` texts of at most `bytes` bytes, and one that says how many were left out.
    fileprivate func bounded(count: Int, bytes: Int) -> [String] {
        let listed = prefix(count).map { $0.shortened(to: bytes) }
        return self.count > count ? listed + ["… \(self.count - count) more"] : listed
    }
}

extension PointReport {
    /// The report with every text, figure and list within its bound.
    package var bounded: PointReport {
        var report = self
        report.frames = frames.bounded(to: FigureBound.frames)
        report.outside = outside.bounded(to: FigureBound.count)
        report.found = found.mapValues { $0.bounded(to: FigureBound.count) }
        report.points = points.prefix(Self.most).map { point in
            var point = point
            point.frame = point.frame.bounded(to: report.frames)
            point.frames = point.frames.bounded(to: report.frames - point.frame)
            point.channels = Array(point.channels.prefix(Bound.channels))
            point.text = point.text?.shortened(to: Bound.name).plain.shortened(to: Bound.name)
            if let value = point.value, !(value.magnitude <= Double(FigureBound.count)) { point.value = nil }
            return point
        }
        return report
    }
}

extension PresetFit {
    /// The fit with every text and list within its bound.
    fileprivate var bounded: PresetFit {
        var fit = self
        fit.preset = preset.told(to: Bound.name)
        fit.summary = summary.told(to: Bound.name)
        fit.reasons = reasons.prefix(Bound.refusals).map { $0.told(to: Bound.sentence) }
        fit.hints = hints.prefix(Bound.refusals).map { $0.told(to: Bound.sentence) }
        if let frames, !FigureBound.holds(frames: frames) { fit.frames = nil }
        if let estimatedBytes, !(0...FigureBound.bytes).contains(estimatedBytes) { fit.estimatedBytes = nil }
        return fit
    }
}

extension ConversionReport {
    /// The report with every text and list within its bound. Counts stay complete: `damage.stretchCount` is still
    /// the number of all stretches. If there are too many lost tags, the last item says how many more there are.
    package var bounded: ConversionReport {
        var report = self
        report.source.codec = source.codec.told(to: Bound.name)
        report.digest = digest?.told(to: Bound.name)
        report.damage = damage.bounded
        if lostTags.count > Bound.tags {
            let listed = Bound.tags - 1
            report.lostTags = lostTags.prefix(listed) + ["… and \(lostTags.count - listed) more"]
        }
        report.lostTags = report.lostTags.map { $0.told(to: Bound.name) }
        report.remarks = remarks.prefix(Bound.remarks).map { remark in
            Remark(remark.kind, remark.detail.told(to: Bound.name), count: remark.count?.bounded(to: FigureBound.count))
        }
        report.spec = spec?.bounded
        return report
    }
}

extension SpecReport {
    /// The report with every text and list within its bound.
    fileprivate var bounded: SpecReport {
        var report = self
        report.spec = spec.told(to: Bound.code)
        report.measured = measured.prefix(Bound.measured).map { measured in
            Measured(
                rule: measured.rule.told(to: Bound.code),
                value: measured.value,
                word: measured.word?.told(to: Bound.name),
                unit: measured.unit?.told(to: Bound.code)
            )
        }
        return report
    }
}
