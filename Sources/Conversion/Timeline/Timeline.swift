/// Pieces of sources on tracks that are mixed: what AVFoundation calls a composition with its audio mix.
///
/// Every track has the same clock: one sample rate and one channel layout, to which each source is brought. Positions
/// are exact times on it. Ranges include their start and exclude their end. There is no stretching of time.
public struct Timeline: Sendable, Hashable {
    /// Frames per second of the clock; `nil` takes the highest rate among the sources.
    public var sampleRateHz: Int?
    /// The channels of the clock; `nil` takes the layout of the source with the most channels.
    public var layout: ChannelLayout?
    /// The tracks. They are mixed, except those that a piece of another track refers to.
    public var tracks: [Track]
    /// Silence follows the last piece up to this length; `nil`, or a length that is exceeded, adds none.
    public var padTo: MediaTime?
    /// The highest true peak of the mix (dBTP); `nil` limits nothing.
    public var limit: Gain?

    /// Checks nothing; `Recipe.validate()` does.
    public init(
        sampleRateHz: Int? = nil,
        layout: ChannelLayout? = nil,
        tracks: [Track],
        padTo: MediaTime? = nil,
        limit: Gain? = nil
    ) {
        self.sampleRateHz = sampleRateHz
        self.layout = layout
        self.tracks = tracks
        self.padTo = padTo
        self.limit = limit
    }

    /// Pieces that are heard one after another.
    public struct Track: Sendable, Hashable {
        /// For the pieces of other tracks that refer to this one; `nil` if none does.
        public var name: String?
        /// When the first piece starts; before it is silence.
        public var start: MediaTime
        /// The gain of the whole track.
        public var gain: Gain
        /// Only for a stereo clock, except at the centre.
        public var pan: Pan
        /// Gains that change. Their times count from the start of the timeline, not of the first piece.
        public var ramps: [Ramp]
        /// Each starts where the one before ends, or earlier by its cross-fade.
        public var pieces: [Piece]

        /// Checks nothing; `Recipe.validate()` does.
        public init(
            name: String? = nil,
            start: MediaTime = .zero,
            gain: Gain = .unity,
            pan: Pan = .centre,
            ramps: [Ramp] = [],
            pieces: [Piece] = []
        ) {
            self.name = name
            self.start = start
            self.gain = gain
            self.pan = pan
            self.ramps = ramps
            self.pieces = pieces
        }
    }
}

extension Timeline {
    /// The names of all tracks that a piece refers to. Such a track is heard there, and not by itself.
    public var namesOfInnerTracks: Set<String> {
        var names: Set<String> = []
        for track in tracks {
            for case .track(let name, _) in track.pieces.lazy.map(\.material) { names.insert(name) }
        }
        return names
    }

    /// The names of all sources that a piece takes.
    public var namesOfUsedSources: Set<String> {
        var names: Set<String> = []
        for track in tracks {
            for case .source(let name, _) in track.pieces.lazy.map(\.material) { names.insert(name) }
        }
        return names
    }

    /// The indices of the tracks that are mixed, in order.
    public var heardTracks: [Int] {
        let inner = namesOfInnerTracks
        return tracks.indices.filter { index in tracks[index].name.map { !inner.contains($0) } ?? true }
    }
}
