/// The header of one frame in a stream without a container.
struct FrameHeader {
    /// Size of the frame in bytes, header included.
    let bytes: Int
    /// Frames of sound; zero for a dependent substream, which belongs to the frame before it.
    let frames: Int
    let sampleRateHz: Int
    /// The header fields that stay the same from frame to frame.
    let kind: UInt32
}
