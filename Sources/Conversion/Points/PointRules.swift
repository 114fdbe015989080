/// What counts as a point in the sound of a track.
public struct PointRules: Sendable, Hashable, Codable {
    /// What counts as silence, anywhere in the track.
    public var silence: SilenceTrim
    /// The fewest samples in a row at one end of the scale that count as clipped.
    public var clippedSamples = 3
    /// Clipped runs of a channel that are closer together than this are one point.
    public var clippedGap = MediaTime(value: 1, timescale: 10)
    /// The shortest and the longest run of equal samples that count as a dropout.
    public var shortestDropout = MediaTime(value: 2, timescale: 1_000)
    public var longestDropout = MediaTime(value: 1, timescale: 5)
    /// How close to a dropout sound must be, before and behind it.
    public var dropoutEdge = MediaTime(value: 2, timescale: 1_000)
    /// How long a channel must be silent while others are not, or equal to another one.
    public var shortestChannelRun = MediaTime(value: 1, timescale: 1)
    /// The least mean of a channel's samples that counts as a DC offset, as a part of full scale.
    public var leastOffset = 0.005
    /// How far below its level the sound must stay to count as its ending, in decibels.
    public var endingDropDB = 7.0

    public init(silence: SilenceTrim = Self.usualSilence) { self.silence = silence }

    /// -60 dB of full scale for half a second.
    public static let usualSilence = SilenceTrim(
        threshold: Gain(decibels: -60) ?? .silence,
        shortest: MediaTime(value: 1, timescale: 2)
    )
}
