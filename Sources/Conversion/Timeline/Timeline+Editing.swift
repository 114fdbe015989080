/// Editing a track as AVFoundation edits one of a composition: what comes later moves.
///
/// Times are positions on the track, counted from the start of the timeline. `sourceLengths` gives the length of each
/// source by its name; it is needed for pieces that take a source to its end. There is no stretching of time.
///
/// A piece that is cut in two keeps sounding as before. If it is repeated, or the cut lies in one of its fades or it has
/// ramps, it moves to a new track, which has a name with `~`, and two pieces refer to its halves. A track that only
/// pieces of other tracks made audible goes when the last of these pieces is removed. Ramps of the track stay where
/// they are.
extension Timeline {
    /// Adds `piece` after the last one.
    public mutating func append(_ piece: Piece, toTrack index: Int) throws(EditError) {
        try checkTrack(index)
        tracks[index].pieces.append(piece)
    }

    /// Inserts `piece` at `time`, between two pieces or in the middle of one; silence fills a gap after the last one.
    ///
    /// Throws if the time lies in a cross-fade, or if it depends on a length that is not known.
    public mutating func insert(
        _ piece: Piece,
        at time: MediaTime,
        inTrack index: Int,
        sourceLengths: [String: MediaTime] = [:]
    ) throws(EditError) {
        try checkTrack(index)
        try Self.checkTime(time)
        var result = self
        if tracks[index].pieces.isEmpty {
            result.tracks[index].start = time
            result.tracks[index].pieces = [piece]
        } else if time < tracks[index].start {
            let gap = Piece(.silence(tracks[index].start - time))
            result.tracks[index].start = time
            result.tracks[index].pieces.insert(contentsOf: [piece, gap], at: 0)
        } else {
            switch try result.cut(index, at: time, sourceLengths) {
            case .piece(let number): result.tracks[index].pieces.insert(piece, at: number)
            case .after(let gap):
                if gap > .zero { result.tracks[index].pieces.append(Piece(.silence(gap))) }
                result.tracks[index].pieces.append(piece)
            }
        }
        self = result
    }

    /// Inserts `length` of silence at `time`. Throws as `insert` does, and if the length is not above 0.
    public mutating func insertSilence(
        _ length: MediaTime,
        at time: MediaTime,
        inTrack index: Int,
        sourceLengths: [String: MediaTime] = [:]
    ) throws(EditError) {
        guard length.isNumeric, length > .zero else {
            throw EditError(.timeNotAllowed, "silence cannot be \(length) long")
        }
        try insert(Piece(.silence(length)), at: time, inTrack: index, sourceLengths: sourceLengths)
    }

    /// Removes what is heard in `range`; what follows moves up. A range without an end removes all that follows.
    ///
    /// Throws if an end of the range lies in a cross-fade, or if it depends on a length that is not known.
    public mutating func remove(
        _ range: MediaTimeRange,
        fromTrack index: Int,
        sourceLengths: [String: MediaTime] = [:]
    ) throws(EditError) {
        try checkTrack(index)
        try Self.checkTime(range.start)
        guard !range.isEmpty else { return }
        let innerBefore = namesOfInnerTracks
        var result = self
        let start = tracks[index].start
        // From the end to the start: a cut leaves all indices before it as they are.
        var last = tracks[index].pieces.count
        if !range.isOpenEnded {
            if range.end <= start {
                last = 0
            } else if case .piece(let number) = try result.cut(index, at: range.end, sourceLengths) {
                last = number
            } else {
                last = result.tracks[index].pieces.count
            }
        }
        var first = 0
        if range.start > start {
            let count = result.tracks[index].pieces.count
            switch try result.cut(index, at: range.start, sourceLengths) {
            case .piece(let number): first = number
            case .after: return
            }
            last += result.tracks[index].pieces.count - count
        } else {
            result.tracks[index].start = start - (min(range.end, start) - range.start)
        }
        result.tracks[index].pieces.removeSubrange(first..<last)
        result.removeTracks(thatWereIn: innerBefore)
        self = result
    }
}

// MARK: - Cutting

extension Timeline {
    /// Where a time is on a track after the piece around it was cut.
    private enum Cut {
        /// The time is where the piece with this index starts.
        case piece(Int)
        /// The time is this long after the end of the last piece.
        case after(MediaTime)
    }

    /// Cuts the piece around `time`, which is not before the track's start.
    private mutating func cut(
        _ index: Int,
        at time: MediaTime,
        _ sourceLengths: [String: MediaTime]
    ) throws(EditError) -> Cut {
        let places = TimelineSchedule(self, sourceLengths: sourceLengths).places[index]
        var end = tracks[index].start
        for (number, place) in places.enumerated() {
            let piece = tracks[index].pieces[number]
            guard let start = place.start, let length = place.length else {
                if number == 0 || piece.crossfade == nil, time == end { return .piece(number) }
                throw EditError(.unknownLength, unknownLength(of: piece))
            }
            end = start + length
            let fadesUntil = start + (number == 0 ? .zero : piece.crossfade?.length ?? .zero)
            if time == start, fadesUntil == start { return .piece(number) }
            guard time >= fadesUntil else {
                throw EditError(
                    .insideCrossfade,
                    "a cross-fade goes from \(start) to \(fadesUntil), and \(time) is in it"
                )
            }
            let next = number + 1 < places.count ? places[number + 1].start ?? end : end
            guard time < next else { continue }
            let halves = halves(of: piece, place, at: time - start)
            tracks[index].pieces.replaceSubrange(number...number, with: [halves.0, halves.1])
            return .piece(number + 1)
        }
        return .after(time - end)
    }

    private func unknownLength(of piece: Piece) -> String {
        switch piece.material {
        case .source where piece.trimSilence != nil:
            "how long a piece is without its silence is known only when its source is read"
        case .source(let name, _), .track(let name, _):
            "a piece takes \"\(name.plain)\" to its end; give the length of the source to edit in it or after it"
        case .silence(let length): "a piece is \(length) long"
        }
    }

    /// The two parts of a piece before and after `offset`, which lies inside it. May add a track.
    private mutating func halves(
        of piece: Piece,
        _ place: TimelineSchedule.Place,
        at offset: MediaTime
    ) -> (Piece, Piece) {
        let rest = (place.length ?? .zero) - offset
        var (first, second) = (piece, piece)
        (first.fadeOut, second.fadeIn, second.crossfade) = (nil, nil, nil)
        let isInFade = (piece.fadeIn?.length ?? .zero) > offset || (piece.fadeOut?.length ?? .zero) > rest
        if piece.repeats == nil, piece.ramps.isEmpty, !isInFade,
            let materials = Self.halves(of: piece, at: offset, rest: rest)
        {
            (first.material, second.material) = materials
            return (first, second)
        }
        var whole = piece
        whole.crossfade = nil
        let name = nameOfNewTrack(for: piece)
        tracks.append(Track(name: name, pieces: [whole]))
        return (
            Piece(.track(name, MediaTimeRange(checkedStart: .zero, end: offset)), crossfade: piece.crossfade),
            Piece(.track(name, MediaTimeRange(checkedStart: offset, end: .positiveInfinity)))
        )
    }

    private static func halves(
        of piece: Piece,
        at offset: MediaTime,
        rest: MediaTime
    ) -> (Piece.Material, Piece.Material)? {
        guard let range = piece.range else { return (.silence(offset), .silence(rest)) }
        let middle = range.start + (piece.isReversed ? rest : offset)
        // The sum was rounded to a time outside of the range: this needs times beyond all audio.
        guard middle.isNumeric, range.start < middle, middle < range.end else { return nil }
        let early = MediaTimeRange(checkedStart: range.start, end: middle)
        let late = MediaTimeRange(checkedStart: middle, end: range.end)
        let (first, second) = piece.isReversed ? (late, early) : (early, late)
        switch piece.material {
        case .source(let name, _): return (.source(name, first), .source(name, second))
        case .track(let name, _): return (.track(name, first), .track(name, second))
        case .silence: return nil
        }
    }

    private func nameOfNewTrack(for piece: Piece) -> String {
        let taken = Set(tracks.compactMap(\.name))
        let stem: String
        switch piece.material {
        case .source(let name, _), .track(let name, _): stem = String(name.prefix(Self.maximumNameLength - 8))
        case .silence: stem = "silence"
        }
        var number = 1
        while taken.contains("\(stem)~\(number)") { number += 1 }
        return "\(stem)~\(number)"
    }

    /// Removes the tracks that have lost their last piece elsewhere; they would now be heard by themselves.
    private mutating func removeTracks(thatWereIn inner: Set<String>) {
        var inner = inner
        while true {
            let used = namesOfInnerTracks
            let lost = tracks.compactMap(\.name).filter { inner.contains($0) && !used.contains($0) }
            guard !lost.isEmpty else { return }
            tracks.removeAll { track in track.name.map(lost.contains) ?? false }
            inner.subtract(lost)
        }
    }
}

// MARK: - Checks

extension Timeline {
    private func checkTrack(_ index: Int) throws(EditError) {
        guard tracks.indices.contains(index) else {
            throw EditError(.noSuchTrack, "there is no track \(index); the timeline has \(tracks.count)")
        }
    }

    private static func checkTime(_ time: MediaTime) throws(EditError) {
        guard time.isNumeric, time >= .zero else {
            throw EditError(.timeNotAllowed, "\(time) is not a time on a track")
        }
    }
}
