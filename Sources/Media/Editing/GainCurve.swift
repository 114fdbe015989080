/// The gain of every frame of a sound: a constant, times what its segments give.
///
/// A frame stands for the time from its start to the next frame's, and has the gain of the middle of that time: so a
/// fade-out is a fade-in read backwards, and the two halves of a linear cross-fade add up to 1.
struct GainCurve: Sendable, Hashable {
    /// Applies to all frames.
    var constant: Double = 1
    /// Ordered by their starts. They may overlap: their gains are multiplied.
    private(set) var segments: [Segment] = []

    /// A stretch of frames whose gain changes.
    struct Segment: Sendable, Hashable {
        let frames: Range<Int64>
        let shape: Shape
    }

    /// How the gain runs from the start of a segment to its end.
    enum Shape: Sendable, Hashable {
        case linear(from: Double, to: Double)
        /// Linear in decibels. Both gains are above zero.
        case decibel(from: Double, to: Double)
        /// Along a quarter of a sine, from 0 to 1. Together with `falling`, the power stays the same.
        case rising
        /// Along a quarter of a cosine, from 1 to 0.
        case falling
    }

    /// Whether every frame keeps its level.
    var isUnity: Bool { constant == 1 && segments.isEmpty }

    mutating func add(_ shape: Shape, over frames: Range<Int64>) {
        guard !frames.isEmpty else { return }
        let place = segments.firstIndex { $0.frames.lowerBound > frames.lowerBound } ?? segments.endIndex
        segments.insert(Segment(frames: frames, shape: shape), at: place)
    }
}

extension GainCurve.Shape {
    /// The gain at `part` of the segment, from 0 to 1.
    func gain(at part: Double) -> Double {
        switch self {
        case .linear(let from, let to): from + (to - from) * part
        case .decibel(let from, let to): from * Exponent.power(to / from, part)
        case .rising: Exponent.quarterSine(part)
        case .falling: Exponent.quarterSine(1 - part)
        }
    }

    /// The gain if it is the same throughout.
    var level: Double? {
        switch self {
        case .linear(let from, let to), .decibel(let from, let to): from == to ? from : nil
        case .rising, .falling: nil
        }
    }
}

/// Walks along a curve and computes the gains of one stretch of frames after another.
struct GainCursor {
    private let curve: GainCurve
    /// Segments before this one are over.
    private var first = 0
    private var gains: [Double] = []

    init(_ curve: GainCurve) { self.curve = curve }

    /// Multiplies `block`, which holds planar floats, with the gains of its frames. The first is frame `start` of the
    /// sound, and starts never go backwards. `pan` has a further factor for each plane.
    mutating func apply(to block: inout SampleBlock, from start: Int64, pan: [Float]?) {
        let level = prepare(from: start, count: block.frameCount)
        gains.withUnsafeBufferPointer { block.amplify(level, $0, pan: pan) }
    }

    /// Returns the gain of `count` frames from `start` on if they have the same; otherwise puts them into `gains`.
    private mutating func prepare(from start: Int64, count: Int) -> Double? {
        let segments = curve.segments
        while first < segments.count, segments[first].frames.upperBound <= start { first += 1 }
        let end = start.addingSaturated(Int64(count))
        var level = curve.constant
        var changing: [GainCurve.Segment] = []
        for segment in segments[first...] {
            if segment.frames.lowerBound >= end { break }
            if segment.frames.upperBound <= start { continue }
            if let same = segment.shape.level, segment.frames.lowerBound <= start, segment.frames.upperBound >= end {
                level *= same
            } else {
                changing.append(segment)
            }
        }
        if changing.isEmpty { return level }
        if gains.count < count { gains = [Double](repeating: 0, count: count) }
        for index in 0..<count { gains[index] = Self.gain(of: start + Int64(index), level, changing) }
        return nil
    }

    private static func gain(of frame: Int64, _ level: Double, _ segments: [GainCurve.Segment]) -> Double {
        var gain = level
        for segment in segments where segment.frames.contains(frame) {
            let length = Double(segment.frames.upperBound - segment.frames.lowerBound)
            gain *= segment.shape.gain(at: (Double(frame - segment.frames.lowerBound) + 0.5) / length)
        }
        return gain
    }
}
