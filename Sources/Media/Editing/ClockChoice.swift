import Conversion

/// Decides the rate and the layout on which the sources of a timeline meet.
struct ClockChoice {
    private let timeline: Timeline
    private let rate: Int
    /// Whether a source has bits that floats of 32 bits do not hold.
    private let isWide: Bool
    /// The layout of each piece of a source, with its channels picked.
    private let layouts: [ChannelLayout]

    /// `rate` decides if the timeline states none.
    init(_ timeline: Timeline, _ sources: [SoundSources.Source], rate: Int?) throws {
        self.timeline = timeline
        let byName = Dictionary(sources.map { ($0.name, $0.track) }) { first, _ in first }
        isWide = sources.contains { $0.track.bitDepth > ($0.track.isFloat ? 32 : 24) }
        self.rate = timeline.sampleRateHz ?? rate ?? sources.map(\.track.sampleRateHz).max() ?? 48_000
        var layouts: [ChannelLayout] = []
        for (index, track) in timeline.tracks.enumerated() {
            for (number, piece) in track.pieces.enumerated() {
                guard case .source(let name, _) = piece.material, let source = byName[name] else { continue }
                let path = "recipe.timeline.tracks[\(index)].pieces[\(number)].channels"
                let layout = try Self.layout(of: source, piece.channels, at: path)
                if !layouts.contains(layout) { layouts.append(layout) }
            }
        }
        self.layouts = layouts
    }

    /// Planar floats at the rate and the layout of the clock.
    func shape() throws -> SampleShape {
        let layout = timeline.layout ?? widest ?? .stereo
        for other in layouts where ChannelMix(from: other, to: layout) == nil {
            throw RecipeError(
                .valueNotAllowed,
                at: "recipe.timeline.layout",
                "\(other) cannot be mixed to \(layout): the positions of its channels are not known; pick channels by number"
            )
        }
        if !layout.isStereo, timeline.hasPan {
            throw RecipeError(
                .valueNotAllowed,
                at: "recipe.timeline",
                "pan needs a stereo clock, and this is \(layout)"
            )
        }
        return SampleShape(
            format: isWide ? .f64Planar : .f32Planar,
            sampleRateHz: rate,
            channelCount: layout.channelCount,
            channelMask: layout.mask
        )
    }

    /// Remarks about channels that are mixed on their way to the clock.
    func remarks() throws -> [Remark] {
        let target = try shape().layout
        return layouts.compactMap { ChannelMix(from: $0, to: target).flatMap { SampleRemarks.mixing(by: $0) } }
    }

    /// The layout with the most channels; of two, the one that comes first.
    private var widest: ChannelLayout? {
        layouts.max { $0.channelCount < $1.channelCount }.flatMap { most in
            layouts.first { $0.channelCount == most.channelCount }
        }
    }

    private static func layout(of track: Track, _ pick: ChannelPick?, at path: String) throws -> ChannelLayout {
        let layout = track.shape.layout ?? .discrete(track.channelCount)
        guard let pick else { return layout }
        guard let (picked, _) = pick.applied(to: layout) else {
            throw RecipeError(
                .valueNotAllowed,
                at: path,
                "\(pick): the source has \(Plural.count(track.channelCount, "channel")) (\(layout))"
            )
        }
        return picked
    }
}

extension ChannelLayout {
    fileprivate var isStereo: Bool { self == .stereo || isDiscrete && channelCount == 2 }
}

extension Timeline {
    fileprivate var hasPan: Bool {
        tracks.contains { $0.pan != .centre || $0.pieces.contains { $0.pan != .centre } }
    }
}
