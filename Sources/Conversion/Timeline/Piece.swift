/// A part of a track: what is heard, and how it is changed.
///
/// The effects are applied in this order: the range, the channels, the silence at its ends, the reversal, the
/// repetition; then the sound is brought to the rate and the layout of the clock; then the gain, the ramps, the pan and
/// the fades; at last the cross-fade with the piece before. Nothing changes the speed: a second of a source is a second
/// of the timeline.
public struct Piece: Sendable, Hashable {
    /// What is heard.
    public var material: Material
    /// Which channels are taken; `nil` takes all.
    public var channels: ChannelPick?
    /// Which silence at the ends of the range is left out; `nil` leaves out none. Only for pieces of sources.
    public var trimSilence: SilenceTrim?
    /// Whether the range is played from its end to its start.
    public var isReversed: Bool
    /// How often the range is played, without a gap; `nil` plays it once.
    public var repeats: Repetition?
    /// The gain of the whole piece.
    public var gain: Gain
    /// Only for a stereo clock, except at the centre.
    public var pan: Pan
    /// Gains that change. Their times count from the start of the piece on its track.
    public var ramps: [Ramp]
    /// From silence at the start of the piece.
    public var fadeIn: Fade?
    /// To silence at the end of the piece.
    public var fadeOut: Fade?
    /// The piece starts this long before the end of the piece before: that one fades out while this one fades in.
    public var crossfade: Fade?

    /// Checks nothing; `Recipe.validate()` does.
    public init(
        _ material: Material,
        channels: ChannelPick? = nil,
        trimSilence: SilenceTrim? = nil,
        isReversed: Bool = false,
        repeats: Repetition? = nil,
        gain: Gain = .unity,
        pan: Pan = .centre,
        ramps: [Ramp] = [],
        fadeIn: Fade? = nil,
        fadeOut: Fade? = nil,
        crossfade: Fade? = nil
    ) {
        self.material = material
        self.channels = channels
        self.trimSilence = trimSilence
        self.isReversed = isReversed
        self.repeats = repeats
        self.gain = gain
        self.pan = pan
        self.ramps = ramps
        self.fadeIn = fadeIn
        self.fadeOut = fadeOut
        self.crossfade = crossfade
    }

    /// What a piece is made of.
    public enum Material: Sendable, Hashable {
        /// A range of the source with this name; the whole source by default.
        case source(String, MediaTimeRange = .whole)
        /// Silence of this length.
        case silence(MediaTime)
        /// A range of the track with this name, which is then heard only here.
        case track(String, MediaTimeRange = .whole)
    }

    /// How often a range is played.
    public enum Repetition: Sendable, Hashable {
        /// This often: 1 is once.
        case times(Int)
        /// Again and again until the piece has this length; the last time may be cut.
        case until(MediaTime)
    }

    /// The range of the source or track; `nil` for silence.
    public var range: MediaTimeRange? {
        switch material {
        case .source(_, let range), .track(_, let range): range
        case .silence: nil
        }
    }
}
