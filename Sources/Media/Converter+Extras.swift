import Conversion

/// What outputs have beside their sound: tags, pictures, chapters and further chunks.
extension Converter {
    /// The options of the writer of an output, apart from its format. `measured` are tags about the sound.
    func writerOptions(
        _ description: SourceDescription,
        stating measured: [Tag],
        ofOutput index: Int,
        sourceIsLossless: Bool,
        chapters: [Chapter] = []
    ) -> Writer.Options {
        Writer.Options(
            tags: mergedTags(description, stating: measured, ofOutput: index),
            cover: request.cover ?? (request.dropsTags ? nil : description.cover),
            furtherPictures: furtherPictures(description),
            digestsSamples: request.verifies,
            streams: request.streams,
            refusesLoss: request.refusesLoss,
            sourceIsLossless: sourceIsLossless,
            chapters: request.dropsTags && request.chapters.isEmpty ? [] : chapters
        )
    }

    /// The pictures beside the cover. One that the request sets takes the place of all front covers.
    private func furtherPictures(_ description: SourceDescription) -> [Picture] {
        if request.dropsTags { return [] }
        guard request.cover != nil else { return Array(description.pictures.dropFirst()) }
        return description.pictures.filter { $0.kind != PictureKind.frontCover }
    }

    /// The options of an output that holds all of a source, or parts of it.
    func writerOptions(
        _ reader: Reader,
        _ track: Track,
        as format: ResolvedFormat,
        stating measured: [Tag],
        ofOutput index: Int
    ) -> Writer.Options {
        var options = writerOptions(
            description(of: reader.description),
            stating: measured,
            ofOutput: index,
            sourceIsLossless: track.isLossless,
            chapters: chapters(reader.description, of: track, inOutput: index)
        )
        if format.codec == .copy, request.tagged == nil { options.tags = options.tags.map(\.besideItsPackets) }
        if format.codec == .copy, !request.streams, !request.dropsTags, reader.isSeekable {
            options.items = reader.demuxer.rules.keptItems(in: reader.demuxer.source)
        }
        guard format.container == .wav, !request.streams, !request.dropsTags, reader.isSeekable,
            let kept = reader.demuxer.rules.broadcast(in: reader.demuxer.source)
        else { return options }
        let part = BroadcastChunks.Part(
            start: ranges(ofOutput: index).first?.start,
            sourceRate: track.sampleRateHz,
            outputRate: format.sampleRateHz,
            isAsLoud: request.loudness == nil && format.channelCount == track.channelCount
        )
        let set = settingTags(ofOutput: index).keys.map { $0.lowercased() }
        options.broadcast = kept.chunks(for: part, replacing: set)
        guard options.broadcast.contains(where: { $0.name == "bext" }) else { return options }
        // The chunk says the same, for the output and not for the source.
        options.tags.removeAll { BroadcastChunks.states($0.key) && !set.contains($0.key.lowercased()) }
        return options
    }

    /// What an output that holds all of a source, or parts of it, lacks of its tags, chapters, pictures and chunks.
    func remarks(
        ofSource reader: Reader,
        _ track: Track,
        as format: ResolvedFormat,
        ofOutput index: Int
    ) -> [Remark] {
        let behindEnd = chaptersBehindEnd(of: track, inOutput: index)
        let chapters = chapters(reader.description, of: track, inOutput: index)
        let isSame = ranges(ofOutput: index).isEmpty && format.sampleRateHz == track.sampleRateHz
        let chunk = BroadcastChunks.remark(
            reader,
            in: format.container,
            isSame: isSame,
            inStream: request.streams
        )
        let further = request.dropsTags ? [] : [chunk].compactMap(\.self)
        if request.dropsTags || request.tagged != nil {
            return further + lossOfSet(chapters, behindEnd: behindEnd, as: format, ofOutput: index)
        }
        return further
            + SourceLoss.remarks(
                reader,
                as: format,
                chapters: keepsSheet(of: reader, in: format.container, ofOutput: index) ? [] : chapters,
                lostChapters: request.chapters.isEmpty ? reader.unreadChapters : 0,
                behindEnd: behindEnd,
                settingTags: tags(ofOutput: index),
                inStream: request.streams
            )
    }

    /// The chapters of an output that holds all of a source, or parts of it.
    func chapters(_ description: SourceDescription, of track: Track, inOutput index: Int) -> [Chapter] {
        if let set = chaptersSet(for: track, inOutput: index) { return set.chapters }
        return ChapterPlan.chapters(description.chapters, in: ranges(ofOutput: index), rate: track.sampleRateHz)
    }

    /// The tags of an output that are not those of its source.
    func settingTags(ofOutput index: Int) -> [String: Recipe.TagValues] {
        let given = (request.tagged?.tags ?? []).filter { !$0.isTechnical && !$0.describesSound }
        let tags = Dictionary(given.map { ($0.key, Recipe.TagValues($0.values)) }) { first, _ in first }
        return tags.merging(self.tags(ofOutput: index)) { $1 }
    }

    /// What an output lacks that has nothing of its source but what the request sets, or another file gives.
    func lossOfSet(
        _ chapters: [Chapter],
        behindEnd: Int,
        as format: ResolvedFormat,
        ofOutput index: Int
    ) -> [Remark] {
        SourceLoss.remarks(
            ofSet: givenChapters == nil ? [] : chapters,
            behindEnd: behindEnd,
            settingTags: settingTags(ofOutput: index),
            givenWith: request.taggedLoss?.without(tags(ofOutput: index), chapters: !request.chapters.isEmpty),
            as: format,
            inStream: request.streams
        )
    }

    /// Whether the chapters are those of a CUE sheet that the output keeps as a tag, and so are not lost without a place.
    func keepsSheet(of reader: Reader, in container: Container, ofOutput index: Int) -> Bool {
        let isWhole = ranges(ofOutput: index).isEmpty && request.chapters.isEmpty
        guard reader.chaptersAreOfSheet, isWhole else { return false }
        let isSet = tags(ofOutput: index).keys.contains { $0.lowercased() == "cuesheet" }
        return !isSet && container.stores(tag: "cuesheet", inStream: request.streams)
    }

    /// The chapters in place of those of the source, which the request sets, or has from another file; `nil` for the
    /// source's.
    var givenChapters: [Chapter]? { request.chapters.isEmpty ? request.tagged?.chapters : request.chapters }

    /// How many of them begin where such an output has ended.
    func chaptersBehindEnd(of track: Track, inOutput index: Int) -> Int {
        chaptersSet(for: track, inOutput: index)?.behindEnd ?? 0
    }

    private func chaptersSet(for track: Track, inOutput index: Int) -> (chapters: [Chapter], behindEnd: Int)? {
        guard var given = givenChapters else { return nil }
        // Another file counts from the start of the source, and the request from that of the output.
        if request.chapters.isEmpty {
            given = ChapterPlan.chapters(given, in: ranges(ofOutput: index), rate: track.sampleRateHz)
        }
        // Packets that are trusted may hold more sound than their container says.
        return clamped(given, upTo: length(of: track, inOutput: index), atMost: request.damage != .trustPackets)
    }

    /// The chapters without so many that begin behind `end`, where the output ends; `nil` if that is not known. The last one
    /// ends there. The output may end later unless it is `atMost` as long.
    func clamped(
        _ chapters: [Chapter],
        upTo end: MediaTime?,
        atMost: Bool = true
    ) -> (chapters: [Chapter], behindEnd: Int) {
        guard let end else { return (chapters, 0) }
        let heard = atMost ? chapters.filter { $0.start < end } : chapters
        let ended = heard.map { chapter in
            let last = chapter.end.isNumeric ? chapter.end : end
            return Chapter(
                start: chapter.start,
                end: max(chapter.start, atMost ? min(last, end) : last),
                title: chapter.title
            )
        }
        return (ended, chapters.count - heard.count)
    }

    /// How long an output of a source is, as far as that is known before.
    private func length(of track: Track, inOutput index: Int) -> MediaTime? {
        let whole = track.plausibleFrames.map { MediaTime(frames: $0, rate: track.sampleRateHz) }
        let ranges = ranges(ofOutput: index)
        if ranges.isEmpty { return whole }
        var length = MediaTime.zero
        for range in ranges {
            guard let end = range.isOpenEnded ? whole : range.end else { return nil }
            length += end - range.start
        }
        return length
    }

    /// The tags of an output: those of the source, then `measured`, then those of the request, which win.
    ///
    /// What the source states about its loudness is left out where the sound is changed or measured.
    private func mergedTags(
        _ description: SourceDescription,
        stating measured: [Tag],
        ofOutput index: Int
    ) -> [Tag] {
        let tags = tags(ofOutput: index).dividingTotals
        let wished = Set(tags.keys.map { $0.lowercased() })
        let named = Set(tags.keys.compactMap { TagTable.row(key: $0)?.name })
        // A timeline may change the level, and mixes or joins what no tag of one source describes.
        let isStale = request.loudness != nil || request.replayGain != nil || request.timeline != nil
        // A CUE sheet counts from the start of the source. The chapters of the output say the same in its own time.
        let movesSheet = request.timeline != nil || !request.chapters.isEmpty || !ranges(ofOutput: index).isEmpty
        let known = request.dropsTags ? [] : description.tags.filter { !movesSheet || !CueSheetTag.isSheet($0) }
        let kept = (known.filter { !isStale || !$0.statesLoudness } + measured)
            .filter { !wished.contains($0.key.lowercased()) && !named.contains($0.name ?? "") }
        let set = tags.filter { !$0.value.removes }.sorted { $0.key < $1.key }
        return kept + set.map { Tag(key: $0.key, values: $0.value.all) }
    }
}
