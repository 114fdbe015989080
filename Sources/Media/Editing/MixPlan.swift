import Conversion

/// What sounds when, in frames of one clock: a timeline, or one of its tracks, with every length known.
struct MixPlan: Sendable {
    /// The length of the whole.
    let frames: Int64
    /// Ordered by their starts. Where they overlap, they are added.
    let parts: [Part]

    init(frames: Int64, parts: [Part]) {
        self.frames = frames
        self.parts = parts.sorted { $0.place.lowerBound < $1.place.lowerBound }
    }

    /// One sound at its place.
    struct Part: Sendable {
        /// When it sounds.
        let place: Range<Int64>
        /// Frames of the sound that come before `place` and are not heard.
        var skipped: Int64 = 0
        let sound: Sound
        /// Counts from the start of the sound, with what is skipped.
        var gain = GainCurve()
        /// The factor of each channel; `nil` for 1.
        var pan: [Float]?
        /// Whether the sound goes on after `place`.
        var isCut = false

        /// Whether the sound is heard as it is.
        var isPlain: Bool { gain.isUnity && pan == nil }
    }

    /// What a part plays.
    indirect enum Sound: Sendable {
        case source(SourcePlan)
        /// A track that has at least one frame, as often as it takes to fill the part.
        case mix(MixPlan, isReversed: Bool)
    }

    /// The part of the plan in `range`, which then starts at frame 0.
    func cut(to range: Range<Int64>) -> MixPlan {
        let range = range.clamped(to: 0..<frames)
        if range == 0..<frames { return self }
        let kept = parts.compactMap { part -> Part? in
            let place = part.place.clamped(to: range)
            guard !place.isEmpty else { return nil }
            return Part(
                place: place.lowerBound - range.lowerBound..<place.upperBound - range.lowerBound,
                skipped: part.skipped + place.lowerBound - part.place.lowerBound,
                sound: part.sound,
                gain: part.gain,
                pan: part.pan,
                isCut: part.isCut || place.upperBound < part.place.upperBound
            )
        }
        return MixPlan(frames: Int64(range.count), parts: kept)
    }
}

/// A range of a source, as a part of a mix plays it.
struct SourcePlan: Sendable, Hashable {
    /// The source's place in the list of sources.
    let source: Int
    /// Frames of the source, on its track's clock.
    let frames: Range<Int64>
    /// Which channels are heard; `nil` for all.
    var pick: ChannelPick?
    var isReversed = false
    /// How often the range is played.
    var times: Int64 = 1
}
