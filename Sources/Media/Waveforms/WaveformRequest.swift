public import Conversion

/// What a waveform should be.
public struct WaveformRequest: Sendable, Hashable {
    public var kind: Recipe.Waveform.Kind
    public var settings: Recipe.Waveform

    public init(_ kind: Recipe.Waveform.Kind, _ settings: Recipe.Waveform = Recipe.Waveform()) {
        (self.kind, self.settings) = (kind, settings)
    }
}
