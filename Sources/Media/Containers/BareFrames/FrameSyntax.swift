/// Formats that are a bare sequence of frames.
enum FrameSyntax: CaseIterable {
    case mpegAudio, adts, ac3

    /// Parses a header from the first eight bytes of a frame, most significant first; `nil` if it is not one.
    func header(_ head: UInt64) -> FrameHeader? {
        switch self {
        case .mpegAudio: FrameSyntax.mpegAudioHeader(UInt32(truncatingIfNeeded: head >> 32))
        case .adts: FrameSyntax.adtsHeader(head)
        case .ac3: FrameSyntax.ac3Header(head)
        }
    }

    /// The byte with which every frame begins.
    var firstByte: UInt8 { self == .ac3 ? 0x0B : 0xFF }

    /// Whether an encoder may put a frame without sound first, which states length and priming.
    var hasInfoFrames: Bool { self == .mpegAudio }

    /// Whether a frame may belong to the one before it and cover the same time.
    var hasDependentFrames: Bool { self == .ac3 }

    /// The number of frames that libav's demuxer needs.
    var leastFrames: Int { self == .mpegAudio ? 2 : 1 }
}

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
