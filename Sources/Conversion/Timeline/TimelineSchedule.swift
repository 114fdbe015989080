/// When each piece of a timeline is heard, as far as that is known without opening the sources.
public struct TimelineSchedule: Sendable, Hashable {
    /// When one piece is heard.
    public struct Place: Sendable, Hashable {
        /// The start on the track, with its cross-fade; `nil` if a piece before has an unknown length.
        public var start: MediaTime?
        /// The length of one repetition; `nil` if it depends on a source whose length is not known.
        public var lengthOfOne: MediaTime?
        /// The length after all repetitions; `nil` if it depends on a source whose length is not known.
        public var length: MediaTime?

        /// The end on the track; `nil` if it is not known.
        public var end: MediaTime? { start.flatMap { start in length.map { start + $0 } } }
    }

    /// For each track, the place of each of its pieces.
    public private(set) var places: [[Place]]
    /// For each track, when its last piece ends; `nil` if that is not known.
    public private(set) var ends: [MediaTime?]
    /// The length of the whole timeline, with its padding; `nil` if it is not known.
    public private(set) var length: MediaTime?

    /// The schedule of `timeline`, given the lengths of the sources that are known.
    ///
    /// Never traps: an unknown name, or a track that contains itself, has an unknown length.
    public init(_ timeline: Timeline, sourceLengths: [String: MediaTime] = [:]) {
        self.init(timeline, TrackGraph(timeline.tracks), sourceLengths)
    }

    init(_ timeline: Timeline, _ graph: TrackGraph, _ sourceLengths: [String: MediaTime]) {
        places = timeline.tracks.map { Array(repeating: Place(), count: $0.pieces.count) }
        ends = Array(repeating: nil, count: timeline.tracks.count)
        for index in graph.order {
            let track = timeline.tracks[index]
            var end: MediaTime? = track.start
            for (number, piece) in track.pieces.enumerated() {
                let overlap = piece.crossfade?.length ?? .zero
                let start = number == 0 ? end : end.map { $0 - overlap }
                let one: MediaTime? =
                    switch piece.material {
                    case .silence(let length): length
                    // How much silence there is, only reading the source can tell.
                    case .source where piece.trimSilence != nil: nil
                    case .source(let name, let range): Self.length(of: range, in: sourceLengths[name])
                    case .track(let name, let range):
                        Self.length(of: range, in: graph.indices[name].flatMap { ends[$0] })
                    }
                let place = Place(start: start, lengthOfOne: one, length: Self.length(of: piece, one))
                places[index][number] = place
                end = place.end
            }
            ends[index] = end
        }
        let heard = timeline.heardTracks.map { ends[$0] }
        length = heard.reduce(timeline.padTo ?? .zero) { longest, end in
            longest.flatMap { longest in end.map { max(longest, $0) } }
        }
    }

    private static func length(of piece: Piece, _ one: MediaTime?) -> MediaTime? {
        switch piece.repeats {
        case nil: one
        case .times(let count): one?.multiplied(by: Int64(count))
        case .until(let end): end
        }
    }

    private static func length(of range: MediaTimeRange, in whole: MediaTime?) -> MediaTime? {
        range.isOpenEnded ? whole.map { max(.zero, $0 - range.start) } : range.duration
    }
}
