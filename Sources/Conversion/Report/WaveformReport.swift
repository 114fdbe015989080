/// What an output shows of the sound: its peaks or its frequencies.
public struct WaveformReport: Sendable, Hashable, Codable {
    /// The channels that are shown: 1 if it is the mean of all.
    public var channelCount: Int
    /// Of data: the pairs of a least and a greatest sample for each channel.
    public var length: Int64?
    /// Of data: the frames that a pair stands for.
    public var samplesPerPixel: Int?
    /// Of data: the bits of a value.
    public var bits: Int?
    /// Of a picture, in pixels.
    public var width: Int?
    /// Of a picture, in pixels.
    public var height: Int?
    /// Of a spectrogram: how its frequencies are arranged.
    public var spectrogram: Recipe.Waveform.FrequencyScale?

    /// What is not given stays `nil`.
    public init(
        channelCount: Int,
        length: Int64? = nil,
        samplesPerPixel: Int? = nil,
        bits: Int? = nil,
        width: Int? = nil,
        height: Int? = nil,
        spectrogram: Recipe.Waveform.FrequencyScale? = nil
    ) {
        self.channelCount = channelCount
        self.length = length
        self.samplesPerPixel = samplesPerPixel
        self.bits = bits
        self.width = width
        self.height = height
        self.spectrogram = spectrogram
    }
}
