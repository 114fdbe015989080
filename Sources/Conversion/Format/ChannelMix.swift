/// How the channels of one layout become those of another: one row of coefficients for each output channel.
///
/// The rule is the same for every codec and every sample format. A speaker that both layouts have keeps its channel. A
/// speaker that the target lacks is folded into its neighbours, see `SpeakerFolding`. Then the whole matrix is scaled
/// so that no row adds up to more than 1: a full-scale source cannot exceed full scale.
public struct ChannelMix: Sendable, Hashable {
    /// The layout that comes in. Unpositioned mono and stereo are mono and stereo here.
    public let source: ChannelLayout
    /// The layout that goes out.
    public let target: ChannelLayout
    /// One row for each channel of `target`, with one coefficient for each channel of `source`.
    public let rows: [[Double]]

    /// `nil` if there is no such mix: one of the layouts has no positions, or a speaker has no neighbour in `target`.
    ///
    /// Layouts of as many channels of which one is unpositioned need no mix: the channels are taken in order.
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

    /// Whether every channel comes out where it went in.
    public var isIdentity: Bool { rows == Self.identity(source.channelCount) }

    /// Whether every source channel is heard somewhere at its own level, and no two of them share an output channel.
    ///
    /// So it is where mono becomes stereo, where speakers are only named otherwise, and where silent ones are added.
    public var keepsEveryChannel: Bool {
        let isPure = rows.allSatisfy { row in
            row.allSatisfy { $0 == 0 || $0 == 1 } && row.count { $0 != 0 } <= 1
        }
        return isPure && lostSpeakers.isEmpty
    }

    /// Speakers of the source of which the target has nothing.
    public var lostSpeakers: [Int] {
        guard !source.isDiscrete else { return [] }
        return source.speakers.indices.filter { column in rows.allSatisfy { $0[column] == 0 } }.map {
            source.speakers[$0]
        }
    }

    /// By what the front channels are scaled: the left one where the source has it, else its first.
    public var frontGain: Double { rows.compactMap(\.first).max() ?? 1 }

    private static func identity(_ count: Int) -> [[Double]] {
        (0..<count).map { row in (0..<count).map { $0 == row ? 1 : 0 } }
    }
}

extension ChannelLayout {
    /// The same layout, with one and two channels without positions taken for mono and stereo, which they nearly always are.
    ///
    /// One channel is mono whatever its speaker is called.
    var withUsualPositions: ChannelLayout {
        if channelCount == 1 { return .mono }
        return isDiscrete && channelCount == 2 ? .stereo : self
    }

    /// The number of the channel for low frequencies, from 0; `nil` if there is none.
    public var lowFrequencyChannel: Int? { speakers.firstIndex(of: 3) }

    /// The bits of the mask, in the order of the channels.
    var speakers: [Int] { (0..<64).filter { mask & (1 << UInt64($0)) != 0 } }
}
