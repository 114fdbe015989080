/// The levels of a track over time, which specs limit.
///
/// A level is the root mean square of all samples of all channels, without filters or gates, in decibels of full scale.
public struct LevelReport: Sendable, Hashable, Codable {
    /// Digital silence, and what is as quiet, has this level.
    public static let silenceDBFS = -200.0
    /// Room tone reaches from an end of the track to the first 10 ms that are louder than this.
    public static let toneDBFS = -50.0
    /// 10 ms below this are digital silence.
    public static let digitalSilenceDBFS = -96.0
    /// A half second that is softer than the whole track by this is a pause.
    public static let pauseDecibels = 20.0

    /// How long the sound is that was measured; `nil` without sound. If the rate of a track changes, this is right, and its
    /// frames are not those of one rate.
    public var length: MediaTime?
    /// Of the whole track; `nil` without sound.
    public var rmsDBFS: Double?
    /// `nil` if the track is shorter than a second. Windows begin every 0.1 s.
    public var loudestSecond: Passage?
    /// The noise floor: the quietest half second; `nil` if the track is shorter. Windows begin every 0.1 s. Those with digital
    /// silence count only if no other one is a pause.
    public var noiseFloor: Passage?
    /// Where the largest sample is.
    public var peakAt: MediaTime?
    /// How long the room tone at the start and at the end is; all of the track if nothing in it is louder.
    public var toneAtStart: MediaTime?
    public var toneAtEnd: MediaTime?

    /// A part of the track with its level.
    public struct Passage: Sendable, Hashable, Codable {
        public var levelDBFS: Double
        public var start: MediaTime

        public init(levelDBFS: Double, start: MediaTime) { (self.levelDBFS, self.start) = (levelDBFS, start) }
    }

    public init(
        length: MediaTime? = nil,
        rmsDBFS: Double? = nil,
        loudestSecond: Passage? = nil,
        noiseFloor: Passage? = nil,
        peakAt: MediaTime? = nil,
        toneAtStart: MediaTime? = nil,
        toneAtEnd: MediaTime? = nil
    ) {
        self.length = length
        self.rmsDBFS = rmsDBFS
        self.loudestSecond = loudestSecond
        self.noiseFloor = noiseFloor
        self.peakAt = peakAt
        self.toneAtStart = toneAtStart
        self.toneAtEnd = toneAtEnd
    }
}
