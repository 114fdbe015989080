/// All points of a track, in order.
public struct PointReport: Sendable, Hashable, Codable {
    /// The most points of one kind that a report lists. A hostile file can hold millions.
    public static let mostOfKind = 4_000
    /// The most points in all.
    public static let most = mostOfKind * SourcePoint.Kind.allCases.count
    /// The most bytes of a text.
    public static let mostTextBytes = 200

    public var sampleRateHz: Int
    /// The length of what decoding gave, on the clock of the track.
    public var frames: Int64
    public var points: [SourcePoint]
    /// The kinds of which more were found than are listed, by their raw values, and how many were found.
    public var found: [String: Int64]
    /// The marks that the file states outside its sound, which are not listed.
    public var outside: Int64

    /// `points` must be in order.
    public init(
        sampleRateHz: Int,
        frames: Int64,
        points: [SourcePoint],
        found: [String: Int64] = [:],
        outside: Int64 = 0
    ) {
        self.sampleRateHz = sampleRateHz
        self.frames = frames
        self.points = points
        self.found = found
        self.outside = outside
    }

    /// When `frame` begins.
    public func time(of frame: Int64) -> MediaTime { MediaTime(frames: frame, rate: sampleRateHz) }

    /// The first point of this kind.
    public func first(_ kind: SourcePoint.Kind) -> SourcePoint? { points.first { $0.kind == kind } }
}

/// Finds the next or the previous place from any time, as often as it is asked.
///
/// It sorts the places once: where each point begins, and where each that lasts ends. At one frame, several points may
/// begin and end.
public struct PointPlaces: Sendable {
    public struct Place: Sendable, Hashable {
        public let frame: Int64
        public let point: SourcePoint
        /// Whether the point ends here. An instant only begins.
        public let isEnd: Bool
    }

    /// In order; at one frame, ends stand before what begins.
    public let places: [Place]
    private let sampleRateHz: Int

    public init(_ report: PointReport) {
        sampleRateHz = report.sampleRateHz
        let ends = report.points.filter { $0.frames > 0 }.map { Place(frame: $0.end, point: $0, isEnd: true) }
        let starts = report.points.map { Place(frame: $0.frame, point: $0, isEnd: false) }
        places = (ends + starts).enumerated().sorted { first, second in
            first.element.frame == second.element.frame
                ? first.offset < second.offset : first.element.frame < second.element.frame
        }.map(\.element)
    }

    /// All that begins or ends at the first frame behind `time` with points of these kinds. Empty if none is left, or if
    /// `time` is no number.
    public func next(after time: MediaTime, of kinds: Set<SourcePoint.Kind>? = nil) -> [Place] {
        // Of a time between two frames, the earlier one: the later lies behind it.
        guard let frame = time.frames(atRate: sampleRateHz, rounding: .towardNegativeInfinity)?.frames else {
            return []
        }
        return next(after: frame, of: kinds)
    }

    /// All that begins or ends at the last frame before `time` with points of these kinds. Empty if there is none, or if
    /// `time` is no number.
    public func previous(before time: MediaTime, of kinds: Set<SourcePoint.Kind>? = nil) -> [Place] {
        guard let frame = time.frames(atRate: sampleRateHz, rounding: .towardPositiveInfinity)?.frames else {
            return []
        }
        return previous(before: frame, of: kinds)
    }

    /// All that begins or ends at the first frame behind `frame` with points of these kinds.
    public func next(after frame: Int64, of kinds: Set<SourcePoint.Kind>? = nil) -> [Place] {
        let later = places[firstIndex { $0.frame > frame }...]
        return all(at: later.first { $0.isOne(of: kinds) }?.frame, of: kinds)
    }

    /// All that begins or ends at the last frame before `frame` with points of these kinds.
    public func previous(before frame: Int64, of kinds: Set<SourcePoint.Kind>? = nil) -> [Place] {
        let earlier = places[..<firstIndex { $0.frame >= frame }]
        return all(at: earlier.last { $0.isOne(of: kinds) }?.frame, of: kinds)
    }

    private func all(at frame: Int64?, of kinds: Set<SourcePoint.Kind>?) -> [Place] {
        guard let frame else { return [] }
        return places[firstIndex { $0.frame >= frame }...].prefix { $0.frame == frame }.filter { $0.isOne(of: kinds) }
    }

    /// The index of the first place for which `isBehind` is true, as it is for all that follow.
    private func firstIndex(where isBehind: (Place) -> Bool) -> Int {
        var (low, high) = (0, places.count)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(places[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

extension PointPlaces.Place {
    /// Whether the point is of one of these kinds, or of any if that is `nil`.
    fileprivate func isOne(of kinds: Set<SourcePoint.Kind>?) -> Bool { kinds?.contains(point.kind) ?? true }
}
