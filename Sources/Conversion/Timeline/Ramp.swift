/// A gain that changes over a range of time, as the volume ramps of AVFoundation.
///
/// Before the first ramp of a piece or track the gain is 0 dB. Between two ramps, and after the last one, the end gain
/// of the ramp before stays. Ramps are in the order of time and do not overlap.
public struct Ramp: Sendable, Hashable {
    /// When the gain changes. Not empty, and it has an end.
    ///
    /// In a piece, zero is where the piece starts on the track, with its cross-fade. In a track, zero is the start of
    /// the timeline.
    public var range: MediaTimeRange
    /// The gain at the start of the range.
    public var from: Gain
    /// The gain at the end of the range, and from then on.
    public var to: Gain
    /// `linear` or `decibel`; with `decibel`, neither gain is silence.
    public var curve: Curve

    /// Checks nothing; `Recipe.validate()` does.
    public init(_ range: MediaTimeRange, from: Gain, to: Gain, curve: Curve = .linear) {
        self.range = range
        self.from = from
        self.to = to
        self.curve = curve
    }
}
