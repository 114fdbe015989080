/// Checks one timeline. Each refusal names a path and a reason.
struct TimelineRules {
    let timeline: Timeline
    let sourceNames: Set<String>
    let sourceLengths: [String: MediaTime]
    let graph: TrackGraph
    let schedule: TimelineSchedule

    init(_ timeline: Timeline, sourceNames: Set<String>, sourceLengths: [String: MediaTime]) {
        self.timeline = timeline
        self.sourceNames = sourceNames
        self.sourceLengths = sourceLengths
        graph = TrackGraph(timeline.tracks)
        schedule = TimelineSchedule(timeline, graph, sourceLengths)
    }

    /// A place in the recipe. The text is made only for a refusal: a timeline may have 100,000 pieces.
    struct Place {
        var track: Int?
        var piece: Int?
        var ramp: Int?

        func path(_ field: String) -> String {
            var path = "recipe.timeline"
            if let track { path += ".tracks[\(track)]" }
            if let piece { path += ".pieces[\(piece)]" }
            if let ramp { path += ".ramps[\(ramp)]" }
            return field.isEmpty ? path : "\(path).\(field)"
        }

        func refusal(_ field: String, _ reason: String) -> RecipeError {
            RecipeError(.valueNotAllowed, at: path(field), reason)
        }
    }

    func check() throws(RecipeError) {
        try checkClock()
        try checkTracks()
        try checkNesting()
        // Inner tracks first: what is wrong in one would also look wrong where it is heard.
        for index in graph.order { try check(timeline.tracks[index], Place(track: index)) }
        try checkSums()
    }

    // MARK: - The clock

    private func checkClock() throws(RecipeError) {
        let place = Place()
        // Every output format that takes any rate is PCM.
        if let rule = FormatTable.rule(.raw, .pcm) {
            if let rate = timeline.sampleRateHz, !rule.rates.contains(rate) {
                throw place.refusal("sampleRateHz", "\(rate); allowed: \(rule.rates.title)")
            }
            if let layout = timeline.layout, !rule.channels.contains(layout.channelCount) {
                let allowed = "\(rule.channels.lowerBound) to \(rule.channels.upperBound) channels"
                throw place.refusal("layout", "\(layout); allowed: \(allowed)")
            }
        }
        if let end = timeline.padTo {
            try checkLength(end, place, "padTo")
            guard end <= Timeline.maximumLength else {
                throw place.refusal("padTo", "\(end); allowed: up to \(Timeline.maximumLength)")
            }
        }
        if let limit = timeline.limit, limit.isSilence || limit.decibels > 0 {
            throw place.refusal("limit", "\(limit); allowed: -144dB to 0dB")
        }
    }

    func checkLength(_ length: MediaTime, _ place: Place, _ field: String) throws(RecipeError) {
        guard length.isNumeric, length > .zero else {
            throw place.refusal(field, "\(length); a length must be above 0")
        }
    }

    func checkPan(_ pan: Pan, _ place: Place) throws(RecipeError) {
        if pan != .centre, let layout = timeline.layout, layout != .stereo {
            throw place.refusal("pan", "needs a stereo timeline, and this one is \(layout)")
        }
    }

    // MARK: - The tracks

    private func checkTracks() throws(RecipeError) {
        let place = Place()
        guard !timeline.tracks.isEmpty else { throw place.refusal("tracks", "is empty") }
        guard timeline.tracks.count <= Timeline.maximumTracks else {
            throw place.refusal("tracks", "\(timeline.tracks.count); allowed: up to \(Timeline.maximumTracks)")
        }
        let mixed = timeline.heardTracks.count
        guard mixed <= Timeline.maximumMixedTracks else {
            throw place.refusal("tracks", "\(mixed) are mixed; allowed: up to \(Timeline.maximumMixedTracks)")
        }
        let pieces = timeline.tracks.reduce(0) { $0 + $1.pieces.count }
        guard pieces <= Timeline.maximumPieces else {
            throw place.refusal("tracks", "\(pieces) pieces; allowed: up to \(Timeline.maximumPieces)")
        }
        var names: Set<String> = []
        for (index, track) in timeline.tracks.enumerated() {
            guard let name = track.name else { continue }
            let place = Place(track: index)
            if let mistake = Timeline.mistake(inName: name) { throw place.refusal("name", mistake) }
            guard names.insert(name).inserted else {
                throw place.refusal("name", "\"\(name.plain)\" is also the name of another track")
            }
        }
    }

    private func checkNesting() throws(RecipeError) {
        if let cycle = graph.cycle {
            let names = cycle.map { timeline.tracks[$0].name?.plain ?? "" }
            let shown =
                names.count <= 8 ? names : Array(names.prefix(4)) + ["..."] + Array(names.suffix(3))
            throw Place(track: cycle[0]).refusal("", "the track contains itself: \(shown.joined(separator: " > "))")
        }
        var depths = [Int](repeating: 1, count: timeline.tracks.count)
        for index in graph.order {
            for inner in graph.references[index] { depths[index] = max(depths[index], depths[inner] + 1) }
            guard depths[index] <= Timeline.maximumNesting else {
                let allowed = "allowed: up to \(Timeline.maximumNesting)"
                throw Place(track: index).refusal("", "its tracks in tracks are \(depths[index]) deep; \(allowed)")
            }
        }
    }

    private func check(_ track: Timeline.Track, _ place: Place) throws(RecipeError) {
        guard track.start.isNumeric, track.start >= .zero else {
            throw place.refusal("start", "\(track.start) is before the start of the timeline")
        }
        guard track.start <= Timeline.maximumLength else {
            throw place.refusal("start", "\(track.start); allowed: up to \(Timeline.maximumLength)")
        }
        try checkPan(track.pan, place)
        try check(track.ramps, place)
        guard !track.pieces.isEmpty else { throw place.refusal("pieces", "is empty") }
        for index in track.pieces.indices { try check(track, piece: index, place) }
    }

    func check(_ ramps: [Ramp], _ owner: Place) throws(RecipeError) {
        var end = MediaTime.zero
        for (index, ramp) in ramps.enumerated() {
            var place = owner
            place.ramp = index
            guard ramp.range.start >= .zero else {
                throw place.refusal("from", "\(ramp.range.start) is before the start")
            }
            guard ramp.range.start >= end else {
                throw place.refusal("from", "\(ramp.range.start) is before \(end), where the ramp before ends")
            }
            guard !ramp.range.isOpenEnded else { throw place.refusal("to", "a ramp must have an end") }
            guard !ramp.range.isEmpty else {
                throw place.refusal("to", "the ramp is empty: it also starts at \(ramp.range.end)")
            }
            switch ramp.curve {
            case .linear: break
            case .decibel:
                for (field, gain) in [("fromGain", ramp.from), ("toGain", ramp.to)] where gain.isSilence {
                    throw place.refusal(field, "-inf has no decibels to ramp over; choose the curve linear")
                }
            case .equalPower: throw place.refusal("curve", "\"equalPower\"; allowed: linear, decibel")
            }
            end = ramp.range.end
        }
    }
}

extension Timeline {
    /// What is wrong with the name of a source or track; `nil` if nothing is.
    static func mistake(inName name: String) -> String? {
        if name.isEmpty { return "is empty" }
        return name.count <= maximumNameLength ? nil : "is longer than \(maximumNameLength) characters"
    }
}
