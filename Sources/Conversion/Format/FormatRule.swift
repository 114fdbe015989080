/// One row of the table: what one container takes of one codec, as libav 5.1 writes it.
public struct FormatRule: Sendable {
    /// The kind of file.
    public var container: Container
    /// Never `copy`.
    public var codec: Codec
    /// In Hz.
    public var rates: SampleRates
    /// Not every count between has a layout; see `layouts`.
    public var channels: ClosedRange<Int>
    /// The layouts that read back as they were written; `nil` if any does, or if none is stored at all.
    public var layouts: [ChannelLayout]?
    /// Empty for lossy codecs, which store no samples.
    public var depths: [SampleDepth]
    /// In bits per second.
    public var bitRates: BitRates
    /// `nil` if the codec has no scale of quality here.
    public var quality: ClosedRange<Double>?
    /// Whether a file decodes to the frames that were encoded.
    public var gapless: Gapless
    /// Where the container's own length fields end; `nil` if no real file reaches that.
    public var maximumBytes: Int64?
    /// What a reader of the table should know besides.
    public var note: String?

    /// Whether decoding gives back the very samples.
    public var isLossless: Bool { codec.isLossless }

    /// All byte orders that some depth takes. Empty if there is none to choose.
    public var endiannesses: [Endianness] {
        Endianness.allCases.filter { order in depths.contains { $0.endiannesses.contains(order) } }
    }
}

/// One size of stored sample, and the byte orders it comes in (none for one byte, or inside a codec).
public struct SampleDepth: Sendable, Hashable {
    /// Bits stored per sample.
    public var bits: Int
    /// What they are the bits of.
    public var kind: SampleKind
    /// The default first.
    public var endiannesses: [Endianness]

    /// A depth and its byte orders.
    public init(_ bits: Int, _ kind: SampleKind = .integer, _ endiannesses: [Endianness] = []) {
        self.bits = bits
        self.kind = kind
        self.endiannesses = endiannesses
    }

    /// `16-bit integer`
    public var title: String { "\(bits)-bit \(kind.rawValue)" }
}

/// Whether the decoded length can equal the encoded one.
public enum Gapless: Sendable, Hashable {
    case exact
    /// The file has no place for encoder delay and padding; a decoder plays them.
    case lost(reason: String)
}
