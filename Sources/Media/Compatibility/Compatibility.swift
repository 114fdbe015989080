public import Conversion

/// Whether a format fits a track: the forecast of the output, or every reason why not.
public enum Compatibility: Sendable, Hashable {
    case fits(Forecast)
    case refused(FormatRefusal)

    /// `nil` if the format does not fit.
    public var forecast: Forecast? { if case .fits(let forecast) = self { forecast } else { nil } }

    /// Empty if the format fits.
    public var reasons: [FormatRefusal.Reason] { if case .refused(let refusal) = self { refusal.reasons } else { [] } }

    public var fits: Bool { forecast != nil }
}

/// What is known about an output before anything is decoded.
public struct Forecast: Sendable, Hashable {
    /// The format with every field resolved.
    public let format: ResolvedFormat
    /// The length on the output's clock, `format.sampleRateHz`; `nil` if the source does not state its length.
    public let frames: Int64?
    /// The size without tags and cover; `nil` if only encoding can tell.
    public let size: Size?

    /// An estimated length in bytes.
    public struct Size: Sendable, Hashable {
        public let bytes: Int64
        public let exactness: ResolvedFormat.Exactness
    }
}

/// One preset, and whether it fits.
public struct PresetCompatibility: Sendable, Hashable {
    public let preset: Preset
    public let compatibility: Compatibility
}

/// A container and a codec, with everything else as in the source, and whether they fit.
public struct FormatCompatibility: Sendable, Hashable {
    public let container: Container
    public let codec: Codec
    public let compatibility: Compatibility
}
