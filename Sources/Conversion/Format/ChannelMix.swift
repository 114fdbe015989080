/// A mixing matrix from one channel layout to another: one row of coefficients for each output channel.
///
/// The rule is the same for every codec and every sample format. A speaker that both layouts have keeps its channel.
/// A speaker that the target lacks is folded into its neighbours, see `SpeakerFolding`. Then the whole matrix is
/// scaled so that no row adds up to more than 1: a full-scale source cannot clip.
public struct ChannelMix: Sendable, Hashable {
    /// The input layout. Mono and stereo without positions count as mono and stereo.
    public let source: ChannelLayout
    /// The output layout.
    public let target: ChannelLayout
    /// One row for each channel of `target`, with one coefficient for each channel of `source`.
    public let rows: [[Double]]

    /// `nil` if there is no such mix: one of the layouts has no positions, or a speaker has no neighbour in `target`.
    ///
    /// If one of the layouts has no positions and both have the same channel count, the channels are copied in order.
    public init?(from given: ChannelLayout, to wanted: ChannelLayout) {
        let source = given.withUsualPositions
        let target = wanted.withUsualPositions
        self.source = source
        self.target = target
        if source.isDiscrete || target.isDiscrete || source == target {
            guard source.channelCount == target.channelCount else { return nil }
            rows = Self.identity(source.channelCount)
            return
        }
        let folding = SpeakerFolding(from: source, to: target)
        var rows = [[Double]](
            repeating: [Double](repeating: 0, count: source.channelCount),
            count: target.channelCount
        )
        for (column, speaker) in source.speakers.enumerated() {
            guard let places = folding.places(of: speaker) else { return nil }
            for place in places {
                guard let row = target.speakers.firstIndex(of: place.speaker) else { return nil }
                rows[row][column] += place.gain
            }
        }
        let loudest = rows.map { $0.reduce(0) { $0 + abs($1) } }.max() ?? 0
        if loudest > 1 { rows = rows.map { $0.map { $0 / loudest } } }
        self.rows = rows
    }

    /// Whether every channel is copied unchanged to the channel of the same number.
    public var isIdentity: Bool { rows == Self.identity(source.channelCount) }

    /// Whether every source channel keeps its level in some output channel, and no two share one.
    ///
    /// This holds when mono becomes stereo, when speakers only change their names, and when silent channels are added.
    public var keepsEveryChannel: Bool {
        let isPure = rows.allSatisfy { row in
            row.allSatisfy { $0 == 0 || $0 == 1 } && row.count { $0 != 0 } <= 1
        }
        return isPure && lostSpeakers.isEmpty
    }

    /// Speakers of the source that contribute to no channel of the target.
    public var lostSpeakers: [Int] {
        guard !source.isDiscrete else { return [] }
        return source.speakers.indices.filter { column in rows.allSatisfy { $0[column] == 0 } }.map {
            source.speakers[$0]
        }
    }

    /// The gain of the left front channel, or of the source's first channel if it has no left one.
    public var frontGain: Double { rows.compactMap(\.first).max() ?? 1 }

    private static func identity(_ count: Int) -> [[Double]] {
        (0..<count).map { row in (0..<count).map { $0 == row ? 1 : 0 } }
    }
}

extension ChannelLayout {
    /// The same layout, with one and two channels without positions taken as mono and stereo, which they nearly
    /// always are.
    ///
    /// One channel is mono whatever its speaker is called.
    var withUsualPositions: ChannelLayout {
        if channelCount == 1 { return .mono }
        return isDiscrete && channelCount == 2 ? .stereo : self
    }

    /// The index, from 0, of the low-frequency channel; `nil` if there is none.
    public var lowFrequencyChannel: Int? { speakers.firstIndex(of: 3) }

    /// The numbers of the mask's bits, in the order of the channels.
    var speakers: [Int] { (0..<64).filter { mask & (1 << UInt64($0)) != 0 } }
}
