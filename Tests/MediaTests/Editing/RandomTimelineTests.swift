import Conversion
import TestSupport
import Testing

@testable import Media

/// Random timelines against a plain renderer in memory.
@Suite struct RandomTimelineTests {
    /// Each group has a hundred seeds.
    @Test(arguments: 0..<10)
    func mixesWhatTheRendererMixes(group: Int) throws {
        let sources = try RandomTimeline.sources()
        for seed in group * 100..<(group + 1) * 100 {
            let timeline = RandomTimeline(seed: UInt64(seed)).timeline
            try Recipe.validated(timeline)
            let expected = TimelineRenderer(timeline: timeline, sources: sources.signals, rate: RandomTimeline.rate)
                .mix()
            let found = try sources.samples(of: timeline)
            try #require(found.map(\.count) == expected.map(\.count), "seed \(seed)")
            // Floats have 24 bits, gains reach +6 dB, and some twenty samples are added.
            var worst = 0.0
            for (channel, wanted) in zip(found, expected) {
                worst = max(worst, SampleMath.greatestDifference(channel, wanted))
            }
            try #require(worst < 1e-5, "seed \(seed): \(worst)")
        }
    }
}

/// A valid timeline of up to five tracks.
struct RandomTimeline {
    static let rate = 8_000
    private static let lengths = ["mono": 3_000, "wide": 5_001, "deep": 4_096]
    private var generator: SeededGenerator
    private(set) var timeline = Timeline(tracks: [])

    static func sources() throws -> Sources {
        func noise(_ seed: UInt64, _ name: String, _ channels: Int) -> Signal {
            Signal.noise(seed: seed, rate: rate, frames: lengths[name]!, channels: channels)
        }
        return try Sources([
            "mono": noise(1, "mono", 1).pcm(.s16), "wide": noise(2, "wide", 2).pcm(.f32),
            "deep": noise(3, "deep", 2).pcm(.s24),
        ])
    }

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
        // Inner tracks come first, so that later ones can refer to their lengths.
        var inner: [(name: String, frames: Int)] = []
        for number in 0..<generator.whole(in: 0..<3) {
            let (track, frames) = track(inner, name: "inner\(number)")
            timeline.tracks.append(track)
            inner.append((track.name!, frames))
        }
        for _ in 0..<generator.whole(in: 1..<4) { timeline.tracks.append(track(inner, name: nil).track) }
        if chance(0.2) { timeline.padTo = time(generator.whole(in: 1..<30_000)) }
    }

    private mutating func track(
        _ inner: [(name: String, frames: Int)],
        name: String?
    ) -> (track: Timeline.Track, frames: Int) {
        var track = Timeline.Track(name: name)
        var frames = chance(0.3) ? generator.whole(in: 0..<4_000) : 0
        track.start = time(frames)
        var lastLength = 0
        for number in 0..<generator.whole(in: 1..<5) {
            var (piece, length) = piece(inner)
            if number > 0, chance(0.3), min(lastLength, length) > 1 {
                let overlap = generator.whole(in: 1..<min(lastLength, length) / 2 + 1)
                piece.crossfade = Fade(time(overlap), curve: chance(0.5) ? .equalPower : .linear)
                frames -= overlap
            }
            track.pieces.append(piece)
            frames += length
            lastLength = length
        }
        if chance(0.3) { track.gain = gain() }
        if chance(0.3) { track.ramps = ramps(over: frames) }
        return (track, frames)
    }

    private mutating func piece(_ inner: [(name: String, frames: Int)]) -> (Piece, length: Int) {
        var piece: Piece
        var length: Int
        switch generator.whole(in: 0..<6) {
        case 0:
            length = generator.whole(in: 1..<3_000)
            return (Piece(.silence(time(length))), length)
        case 1 where !inner.isEmpty:
            let (name, frames) = inner[generator.whole(in: 0..<inner.count)]
            let range = range(of: frames)
            piece = Piece(.track(name, range.time))
            length = range.frames
        default:
            let name = ["mono", "wide", "deep"][generator.whole(in: 0..<3)]
            let range = range(of: Self.lengths[name]!)
            piece = Piece(.source(name, range.time))
            length = range.frames
            if chance(0.2) { piece.channels = name == "mono" ? .numbers([1]) : pick() }
        }
        if chance(0.2) { piece.isReversed = true }
        if chance(0.15) {
            let times = generator.whole(in: 1..<4)
            piece.repeats = .times(times)
            length *= times
        } else if chance(0.15) {
            length = generator.whole(in: 1..<9_000)
            piece.repeats = .until(time(length))
        }
        if chance(0.3) { piece.gain = gain() }
        if chance(0.3) { piece.ramps = ramps(over: length) }
        if chance(0.2) { piece.fadeIn = fade(upTo: length) }
        if chance(0.2) { piece.fadeOut = fade(upTo: length) }
        return (piece, length)
    }

    private mutating func pick() -> ChannelPick {
        [.left, .right, .swap, .sum, .numbers([2]), .numbers([2, 1])][generator.whole(in: 0..<6)]
    }

    private mutating func range(of frames: Int) -> (time: MediaTimeRange, frames: Int) {
        if chance(0.3) { return (.whole, frames) }
        let start = generator.whole(in: 0..<frames)
        if chance(0.2) { return (MediaTimeRange(from: time(start), to: .positiveInfinity), frames - start) }
        let end = generator.whole(in: start + 1..<frames + 1)
        return (MediaTimeRange(from: time(start), to: time(end)), end - start)
    }

    private mutating func fade(upTo frames: Int) -> Fade {
        Fade(time(generator.whole(in: 1..<frames + 1)), curve: chance(0.3) ? .equalPower : .linear)
    }

    private mutating func ramps(over frames: Int) -> [Ramp] {
        var ramps: [Ramp] = []
        var start = generator.whole(in: 0..<max(1, frames / 2))
        for _ in 0..<generator.whole(in: 1..<4) {
            let end = start + generator.whole(in: 1..<2_000)
            ramps.append(
                Ramp(
                    MediaTimeRange(from: time(start), to: time(end)),
                    from: gain(),
                    to: gain(),
                    curve: chance(0.5) ? .decibel : .linear
                )
            )
            start = end + generator.whole(in: 0..<500)
        }
        return ramps
    }

    private mutating func gain() -> Gain { Gain(decibels: Double(generator.whole(in: -240..<61)) / 10)! }
    private mutating func chance(_ part: Double) -> Bool { generator.unit() < part }
    private func time(_ frames: Int) -> MediaTime { MediaTime(frames: Int64(frames), rate: Self.rate) }
}

extension MediaTimeRange {
    /// For tests, which give ordered times.
    init(from start: MediaTime, to end: MediaTime) {
        do {
            try self.init(start: start, end: end)
        } catch {
            preconditionFailure("\(error)")
        }
    }
}

extension Recipe {
    /// Throws if a recipe with this timeline and the three usual sources is refused.
    static func validated(_ timeline: Timeline) throws {
        let used = Set(
            timeline.tracks.flatMap(\.pieces).compactMap { piece in
                if case .source(let name, _) = piece.material { name } else { nil }
            }
        )
        let recipe = Recipe(
            sources: used.sorted().map { .init(location: "\($0).wav", name: $0) },
            outputs: [.init(location: "out.wav")],
            timeline: timeline
        )
        if !used.isEmpty { try recipe.validate() }
    }
}
