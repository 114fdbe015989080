/// What looks at all samples of a sound for a picture or for data.
protocol SoundAnalysis: AnyObject {
    /// The channels that are shown.
    var channelCount: Int { get }
    /// Frames added so far.
    var frames: Int64 { get }

    /// All blocks have the same sample rate and the same channels.
    func add(_ block: borrowing SampleBlock) throws
    /// To be called once, at the end.
    func finish() throws
}
