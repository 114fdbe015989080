/// Where a pump gets its samples: one track now, and later a mix of several tracks (`MixOutput`), which will be
/// another output and change nothing downstream.
public protocol SampleOutput: AnyObject {
    /// Sample rate of the clock that positions count on, in frames per second.
    var clockRateHz: Int { get }
    /// Frames handed out so far.
    var deliveredFrames: Int64 { get }
    /// Total frames this output will deliver; `nil` if the source does not state it.
    var promisedFrames: Int64? { get }

    /// Fills `block` with the next samples; `false` when there are no more.
    func next(into block: inout SampleBlock) throws -> Bool
}

extension TrackOutput: SampleOutput {
    public var clockRateHz: Int { track.sampleRateHz }
}
