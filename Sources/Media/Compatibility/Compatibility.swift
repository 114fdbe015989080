public import Conversion

/// Whether a format fits a track, and what will come of it; or every reason why not.
public enum Compatibility: Sendable, Hashable {
    case fits(Forecast)
    case refused(FormatRefusal)

    /// `nil` for what does not fit.
    public var forecast: Forecast? { if case .fits(let forecast) = self { forecast } else { nil } }

    /// Empty for what fits.
    public var reasons: [FormatRefusal.Reason] { if case .refused(let refusal) = self { refusal.reasons } else { [] } }

    public var fits: Bool { forecast != nil }
}

/// What an output will be, as far as it is known before anything is decoded.
public struct Forecast: Sendable, Hashable {
    /// With every field decided.
    public let format: ResolvedFormat
    /// On the output's clock, `format.sampleRateHz`; `nil` where the source does not say how long it is.
    ///
    /// As exact as the source's own `Track.length`.
    public let frames: Int64?
    /// Bytes of the output without tags and cover; `nil` where only encoding can tell.
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

/// One pair of container and codec, everything else as the source has it, and whether it fits.
public struct FormatCompatibility: Sendable, Hashable {
    public let container: Container
    public let codec: Codec
    public let compatibility: Compatibility
}
