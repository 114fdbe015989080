extension TimelineRules {
    func check(_ track: Timeline.Track, piece index: Int, _ owner: Place) throws(RecipeError) {
        let piece = track.pieces[index]
        var place = owner
        place.piece = index
        try checkMaterial(of: piece, place)
        if case .numbers(let numbers) = piece.channels, !ChannelPick.areAllowed(numbers) {
            throw place.refusal("channels", "allowed: \(ChannelPick.allowedForms)")
        }
        if let trim = piece.trimSilence {
            guard case .source = piece.material else {
                throw place.refusal("trimSilence", "only pieces of a source can be without their silence")
            }
            if let mistake = trim.mistake { throw place.refusal("trimSilence", mistake) }
        }
        try checkPan(piece.pan, place)
        try check(piece.ramps, place)
        guard let track = place.track else { return }
        let scheduled = schedule.places[track][index]
        try checkRepetition(of: piece, lengthOfOne: scheduled.lengthOfOne, place)
        for (field, fade) in [("fadeIn", piece.fadeIn), ("fadeOut", piece.fadeOut)] {
            guard let fade else { continue }
            try check(fade, place, field)
            try checkFits(fade.length, in: scheduled.length, "the piece", place, field)
        }
        try checkCrossfade(track: track, piece: index, place)
    }

    // MARK: - Material

    private func checkMaterial(of piece: Piece, _ place: Place) throws(RecipeError) {
        switch piece.material {
        case .silence(let length): try checkLength(length, place, "silence")
        case .source(let name, let range):
            guard sourceNames.contains(name) else {
                throw place.refusal("source", Self.unknown(name, "source", among: sourceNames))
            }
            try check(range, endOfWhole: sourceLengths[name], "source \"\(name.plain)\"", place)
        case .track(let name, let range):
            guard let inner = graph.indices[name] else {
                throw place.refusal("track", Self.unknown(name, "track", among: Set(graph.indices.keys)))
            }
            try check(range, endOfWhole: schedule.ends[inner], "track \"\(name.plain)\"", place)
        }
    }

    private static func unknown(_ name: String, _ noun: String, among names: Set<String>) -> String {
        let sorted = names.sorted()
        let meant = EditDistance.suggestions(for: name, among: sorted).map { "\"\($0.plain)\"" }
        let hint =
            if !meant.isEmpty {
                "did you mean \(meant.joined(separator: " or "))?"
            } else {
                "known: " + sorted.prefix(8).map(\.plain).joined(separator: ", ") + (sorted.count > 8 ? ", ..." : "")
            }
        return "there is no \(noun) \"\(String(name.prefix(64)).plain)\"; \(hint)"
    }

    private func check(
        _ range: MediaTimeRange,
        endOfWhole: MediaTime?,
        _ whole: String,
        _ place: Place
    ) throws(RecipeError) {
        guard range.start >= .zero else {
            throw place.refusal("from", "\(range.start) is before the start of \(whole)")
        }
        guard !range.isEmpty else {
            throw place.refusal("to", "the range is empty: it also starts at \(range.end)")
        }
        guard let endOfWhole else { return }
        guard range.start < endOfWhole else {
            throw place.refusal("from", "\(range.start) is not before the end of \(whole), which is \(endOfWhole) long")
        }
        guard range.isOpenEnded || range.end <= endOfWhole else {
            throw place.refusal("to", "\(range.end) is after the end of \(whole), which is \(endOfWhole) long")
        }
    }

    // MARK: - Repetition

    private func checkRepetition(
        of piece: Piece,
        lengthOfOne: MediaTime?,
        _ place: Place
    ) throws(RecipeError) {
        switch piece.repeats {
        case nil: break
        case .times(let count):
            guard (1...Timeline.maximumRepeats).contains(count) else {
                throw place.refusal("repeat", "\(count); allowed: 1 to \(Timeline.maximumRepeats)")
            }
        case .until(let end):
            try checkLength(end, place, "repeatUntil")
            guard end <= Timeline.maximumLength else {
                throw place.refusal("repeatUntil", "\(end); allowed: up to \(Timeline.maximumLength)")
            }
            if let lengthOfOne, lengthOfOne.multiplied(by: Int64(Timeline.maximumRepeats)) < end {
                let allowed = "allowed: up to \(Timeline.maximumRepeats) repetitions"
                throw place.refusal("repeatUntil", "\(end) is too long for a range of \(lengthOfOne); \(allowed)")
            }
        }
    }

    // MARK: - Fades

    private func check(_ fade: Fade, _ place: Place, _ field: String) throws(RecipeError) {
        try checkLength(fade.length, place, field)
        guard fade.curve != .decibel else {
            throw place.refusal(field, "\"decibel\" cannot start from silence; allowed: linear, equalPower")
        }
    }

    private func checkFits(
        _ length: MediaTime,
        in whole: MediaTime?,
        _ noun: String,
        _ place: Place,
        _ field: String
    ) throws(RecipeError) {
        guard let whole, length > whole else { return }
        throw place.refusal(field, "\(length) is longer than \(noun), which is \(whole) long")
    }

    private func checkCrossfade(track: Int, piece index: Int, _ place: Place) throws(RecipeError) {
        guard let fade = timeline.tracks[track].pieces[index].crossfade else { return }
        guard index > 0 else {
            throw place.refusal("crossfade", "the first piece of a track has no piece before it")
        }
        try check(fade, place, "crossfade")
        let places = schedule.places[track]
        try checkFits(fade.length, in: places[index].length, "the piece", place, "crossfade")
        try checkFits(fade.length, in: places[index - 1].length, "the piece before", place, "crossfade")
        guard let before = timeline.tracks[track].pieces[index - 1].crossfade?.length,
            let length = places[index - 1].length, before + fade.length > length
        else { return }
        throw place.refusal(
            "crossfade",
            "overlaps with the cross-fade at the start of the piece before, which is \(length) long"
        )
    }

    // MARK: - Sums

    /// What only all pieces together exceed. The tracks have no cycle.
    func checkSums() throws(RecipeError) {
        var heard = [Int](repeating: 0, count: timeline.tracks.count)
        var voices = heard
        for index in graph.order {
            let end = schedule.ends[index] ?? .zero
            guard end <= Timeline.maximumLength else {
                throw Place(track: index).refusal("", "is \(end) long; allowed: up to \(Timeline.maximumLength)")
            }
            var before = 0
            for (number, piece) in timeline.tracks[index].pieces.enumerated() {
                var plays = 1
                var own = 1
                switch piece.material {
                case .silence: own = 0
                case .source: break
                case .track(let name, _):
                    let inner = graph.indices[name] ?? index
                    plays = 1 + Self.product(heard[inner], repetitions(of: piece, schedule.places[index][number]))
                    own = voices[inner]
                }
                heard[index] += plays
                voices[index] = max(voices[index], own + (piece.crossfade == nil ? 0 : before))
                before = own
                guard heard[index] <= Timeline.maximumHeardPieces else {
                    let allowed = "allowed: up to \(Timeline.maximumHeardPieces), counted each time that one is heard"
                    throw Place(track: index).refusal("pieces", "too many; \(allowed)")
                }
            }
        }
        let mixed = timeline.heardTracks
        guard mixed.reduce(0, { $0 + heard[$1] }) <= Timeline.maximumHeardPieces else {
            let allowed = "allowed: up to \(Timeline.maximumHeardPieces), counted each time that one is heard"
            throw Place().refusal("tracks", "too many pieces; \(allowed)")
        }
        let loudest = mixed.reduce(0) { $0 + min(voices[$1], Timeline.maximumPieces) }
        guard loudest <= Timeline.maximumVoices else {
            let allowed = "allowed: up to \(Timeline.maximumVoices)"
            throw Place().refusal("tracks", "up to \(loudest) sources may be heard at the same time; \(allowed)")
        }
    }

    private func repetitions(of piece: Piece, _ place: TimelineSchedule.Place) -> Int {
        switch piece.repeats {
        case nil: return 1
        case .times(let count): return max(1, count)
        case .until(let end):
            guard let one = place.lengthOfOne, one > .zero, end.isNumeric else { return 1 }
            // A bound from above is enough here, and seconds are close enough for it.
            return Int(min(end.seconds / one.seconds + 1, Double(Timeline.maximumRepeats)))
        }
    }

    private static func product(_ first: Int, _ second: Int) -> Int {
        let (product, overflows) = first.multipliedReportingOverflow(by: second)
        return overflows ? Timeline.maximumHeardPieces + 1 : min(product, Timeline.maximumHeardPieces + 1)
    }
}
