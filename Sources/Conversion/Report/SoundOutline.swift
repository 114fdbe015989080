/// The course of a track's sound, for a picture: its extremes and its loudness in at most `mostParts` equal parts.
public struct SoundOutline: Sendable, Hashable, Codable {
    public static let mostParts = 1_000
    /// What is quieter has no level: the absolute gate of EBU R 128.
    public static let silenceLUFS = -70.0
    /// Samples of floats that are farther from 0 are given as this.
    public static let largestSample = 1_000.0

    /// The length of a part; the last one may be shorter.
    public var secondsPerPart: Double
    /// The lowest and the highest sample of each part, of all channels; full scale is 1.
    public var lowest: [Double]
    public var highest: [Double]
    /// The highest momentary loudness in each part (EBU R 128: of the last 400 ms); `nil` below `silenceLUFS`.
    public var momentaryLUFS: [Double?]

    /// Without parts, if none is given: nothing could be decoded.
    public init(
        secondsPerPart: Double = 1,
        lowest: [Double] = [],
        highest: [Double] = [],
        momentaryLUFS: [Double?] = []
    ) {
        self.secondsPerPart = secondsPerPart
        (self.lowest, self.highest, self.momentaryLUFS) = (lowest, highest, momentaryLUFS)
    }
}
