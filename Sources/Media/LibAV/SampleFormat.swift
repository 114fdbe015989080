import CLibAV
public import Conversion

/// The memory layout of a block's samples, always in the machine's byte order.
public enum SampleFormat: Sendable, Hashable {
    case u8, s16, s32, s64, f32, f64
    case u8Planar, s16Planar, s32Planar, s64Planar, f32Planar, f64Planar

    /// The interleaved format of the same sample type.
    public var interleaved: SampleFormat {
        switch self {
        case .u8, .u8Planar: .u8
        case .s16, .s16Planar: .s16
        case .s32, .s32Planar: .s32
        case .s64, .s64Planar: .s64
        case .f32, .f32Planar: .f32
        case .f64, .f64Planar: .f64
        }
    }

    /// Whether each channel has a separate plane.
    public var isPlanar: Bool { self != interleaved }

    public var bytesPerSample: Int {
        switch interleaved {
        case .u8: 1
        case .s16: 2
        case .s32, .f32: 4
        default: 8
        }
    }

    public var kind: SampleKind { [.f32, .f64].contains(interleaved) ? .float : .integer }

    var code: AVSampleFormat {
        switch self {
        case .u8: AV_SAMPLE_FMT_U8
        case .s16: AV_SAMPLE_FMT_S16
        case .s32: AV_SAMPLE_FMT_S32
        case .s64: AV_SAMPLE_FMT_S64
        case .f32: AV_SAMPLE_FMT_FLT
        case .f64: AV_SAMPLE_FMT_DBL
        case .u8Planar: AV_SAMPLE_FMT_U8P
        case .s16Planar: AV_SAMPLE_FMT_S16P
        case .s32Planar: AV_SAMPLE_FMT_S32P
        case .s64Planar: AV_SAMPLE_FMT_S64P
        case .f32Planar: AV_SAMPLE_FMT_FLTP
        case .f64Planar: AV_SAMPLE_FMT_DBLP
        }
    }

    init?(code: AVSampleFormat) {
        switch code {
        case AV_SAMPLE_FMT_U8: self = .u8
        case AV_SAMPLE_FMT_S16: self = .s16
        case AV_SAMPLE_FMT_S32: self = .s32
        case AV_SAMPLE_FMT_S64: self = .s64
        case AV_SAMPLE_FMT_FLT: self = .f32
        case AV_SAMPLE_FMT_DBL: self = .f64
        case AV_SAMPLE_FMT_U8P: self = .u8Planar
        case AV_SAMPLE_FMT_S16P: self = .s16Planar
        case AV_SAMPLE_FMT_S32P: self = .s32Planar
        case AV_SAMPLE_FMT_S64P: self = .s64Planar
        case AV_SAMPLE_FMT_FLTP: self = .f32Planar
        case AV_SAMPLE_FMT_DBLP: self = .f64Planar
        default: return nil
        }
    }
}

/// What two blocks must have in common to follow each other without a conversion.
public struct SampleShape: Sendable, Hashable {
    public var format: SampleFormat
    public var sampleRateHz: Int
    public var channelCount: Int
    /// The WAVE channel mask; zero if the source names no speakers.
    public var channelMask: UInt64

    public init(format: SampleFormat, sampleRateHz: Int, channelCount: Int, channelMask: UInt64) {
        self.format = format
        self.sampleRateHz = sampleRateHz
        self.channelCount = channelCount
        self.channelMask = channelMask
    }

    public var bytesPerFrame: Int { format.bytesPerSample * channelCount }
}

/// Calls `body` with libav's layout for a mask, or with a plain channel count if the mask
/// is zero or does not fit `count`.
///
/// libav's default layout for a channel count would be a guess: the channels would then count as known and be mixed.
func withChannelLayout<Result>(
    mask: UInt64,
    count: Int,
    _ body: (inout AVChannelLayout) throws -> Result
) rethrows -> Result {
    var layout = AVChannelLayout()
    if mask == 0 || av_channel_layout_from_mask(&layout, mask) < 0 || Int(layout.nb_channels) != count {
        layout.nb_channels = Int32(count)
    }
    defer { av_channel_layout_uninit(&layout) }
    return try body(&layout)
}

extension AVChannelLayout {
    /// The WAVE mask; zero for a channel order that has none.
    var waveMask: UInt64 { order == AV_CHANNEL_ORDER_NATIVE ? u.mask : 0 }
}
