/// Where a pump gets its samples: a track, and one day a mix of several tracks (`MixOutput`), which will be another
/// output and change nothing behind it.
public protocol SampleOutput: AnyObject {
    /// Frames per second of the clock that positions count on.
    var clockRateHz: Int { get }
    /// Frames handed out so far.
    var deliveredFrames: Int64 { get }
    /// Frames that there are to hand out; `nil` where the source does not say.
    var promisedFrames: Int64? { get }

    /// Fills `block` with the next samples; `false` when there are no more.
    func next(into block: inout SampleBlock) throws -> Bool
}

extension TrackOutput: SampleOutput {
    public var clockRateHz: Int { track.sampleRateHz }
}
