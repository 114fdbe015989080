/// One row of the table: what one container accepts of one codec, as libav 5.1 writes it.
public struct FormatRule: Sendable {
    /// The kind of file.
    public var container: Container
    /// Never `copy`.
    public var codec: Codec
    /// In Hz.
    public var rates: SampleRates
    /// Not every count in the range has a layout; see `layouts`.
    public var channels: ClosedRange<Int>
    /// The layouts that read back as they were written; `nil` if every layout does, or if the file stores none.
    public var layouts: [ChannelLayout]?
    /// Empty for lossy codecs, which store no samples.
    public var depths: [SampleDepth]
    /// In bits per second.
    public var bitRates: BitRates
    /// `nil` if the codec has no quality scale in this container.
    public var quality: ClosedRange<Double>?
    /// Whether a decoder restores the exact number of frames that were encoded.
    public var gapless: Gapless
    /// The largest file that the container's length fields allow; `nil` if no real file reaches the limit.
    public var maximumBytes: Int64?
    /// A further remark for readers of the table.
    public var note: String?

    /// Whether decoding restores the exact samples.
    public var isLossless: Bool { codec.isLossless }

    /// All byte orders that at least one depth accepts. Empty if there is no choice.
    public var endiannesses: [Endianness] {
        Endianness.allCases.filter { order in depths.contains { $0.endiannesses.contains(order) } }
    }
}

/// One stored sample size and its byte orders (none for one byte, or inside a codec).
public struct SampleDepth: Sendable, Hashable {
    /// Bits stored per sample.
    public var bits: Int
    /// Integer or float.
    public var kind: SampleKind
    /// The default comes first.
    public var endiannesses: [Endianness]

    public init(_ bits: Int, _ kind: SampleKind = .integer, _ endiannesses: [Endianness] = []) {
        self.bits = bits
        self.kind = kind
        self.endiannesses = endiannesses
    }

    /// For example `16-bit integer`.
    public var title: String { "\(bits)-bit \(kind.rawValue)" }
}

/// Whether the decoded length can equal the encoded one.
public enum Gapless: Sendable, Hashable {
    case exact
    /// The file cannot store encoder delay and padding, so a decoder plays them.
    case lost(reason: String)
}
