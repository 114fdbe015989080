extension Timeline {
    /// The most tracks that are mixed.
    public static let maximumMixedTracks = 64
    /// The most tracks, with those that only pieces of other tracks refer to.
    public static let maximumTracks = 1_000
    /// The most pieces of all tracks together.
    public static let maximumPieces = 100_000
    /// The most pieces that are heard if a track's pieces count each time that the track is heard.
    public static let maximumHeardPieces = 1_000_000
    /// The most sources that are heard at the same time; a cross-fade counts both.
    public static let maximumVoices = 128
    /// How deep tracks may contain one another; a track without other tracks in it has depth 1.
    public static let maximumNesting = 16
    /// How often a piece may be repeated.
    public static let maximumRepeats = 1_000_000
    /// The most sources: the kernel passes at most 253 open files to another process in one message.
    public static let maximumSources = 250
    /// The most characters of the name of a source or track.
    public static let maximumNameLength = 100
    /// The longest timeline.
    public static let maximumLength = MediaTime(value: 1_000 * 3_600, timescale: 1)
}
