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
    /// Where the container's own length fields end; `nil` if nobody will reach that.
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

/// The sample rates that a codec takes in a container.
public enum SampleRates: Sendable, Hashable {
    case range(ClosedRange<Int>)
    /// `fallback` is for sources at any other rate; `nil` takes the next higher one.
    case list([Int], fallback: Int?)
    /// Every rate up to one end, above it only multiples of `step` up to a second end (FLAC's header).
    case stepped(every: ClosedRange<Int>, step: Int, upTo: Int)

    /// Whether a rate is taken.
    public func contains(_ rate: Int) -> Bool {
        switch self {
        case .range(let range): range.contains(rate)
        case .list(let rates, _): rates.contains(rate)
        case .stepped(let every, let step, let end):
            every.contains(rate) || (rate > every.upperBound && rate <= end && rate % step == 0)
        }
    }

    /// The lowest allowed rate from `rate` up, else the highest.
    ///
    /// `accepts` narrows a list further, because some bit rates exist only at some sample rates.
    func nearest(to rate: Int, where accepts: (Int) -> Bool) -> Int? {
        switch self {
        case .range(let range):
            return min(max(rate, range.lowerBound), range.upperBound)
        case .list(let rates, let fallback):
            let fitting = rates.filter(accepts)
            if let fallback, !rates.contains(rate), fitting.contains(fallback) { return fallback }
            return fitting.filter { $0 >= rate }.min() ?? fitting.max()
        case .stepped(let every, let step, let end):
            if rate <= every.upperBound { return max(rate, every.lowerBound) }
            return min((rate + step - 1) / step * step, end)
        }
    }

    /// The highest allowed rate that is not above `ceiling`.
    func highest(upTo ceiling: Int, where accepts: (Int) -> Bool) -> Int? {
        switch self {
        case .range(let range):
            return ceiling < range.lowerBound ? nil : min(ceiling, range.upperBound)
        case .list(let rates, _):
            return rates.filter { $0 <= ceiling && accepts($0) }.max()
        case .stepped(let every, let step, let end):
            if ceiling > every.upperBound, min(ceiling, end) / step * step > every.upperBound {
                return min(ceiling, end) / step * step
            }
            return ceiling < every.lowerBound ? nil : min(ceiling, every.upperBound)
        }
    }

    /// As a refusal lists it: `8000, 12000, 16000` or `1 to 65534, ...`, in Hz.
    public var title: String {
        switch self {
        case .range(let range): "\(range.lowerBound) to \(range.upperBound)"
        case .list(let rates, _): rates.sorted().map { String($0) }.joined(separator: ", ")
        case .stepped(let every, let step, let end):
            "\(every.lowerBound) to \(every.upperBound), multiples of \(step) to \(end)"
        }
    }
}

/// The bit rates a codec takes. Which ones can depend on the sample rate and the channels.
public enum BitRates: Sendable, Hashable {
    case none
    /// MPEG audio layer 3 has 14 of them for each of its three versions.
    case mp3
    /// A ceiling of so many bits in a frame of so many samples, for each channel.
    case perFrame(minimum: Int, bits: Int, samples: Int)
    case perChannel(minimum: Int, maximum: Int)

    static let mpeg1 = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320].map { $0 * 1000 }
    static let mpeg2 = [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160].map { $0 * 1000 }
    /// The standard lists MPEG-2's for 2.5 as well; LAME ends at 64.
    static let mpeg2Point5 = mpeg2.filter { $0 <= 64_000 }

    private static func mp3List(at sampleRateHz: Int) -> [Int] {
        sampleRateHz >= 32_000 ? mpeg1 : sampleRateHz >= 16_000 ? mpeg2 : mpeg2Point5
    }

    /// The lowest and the highest; `nil` if the codec takes no bit rate.
    public func bounds(sampleRateHz: Int, channelCount: Int) -> ClosedRange<Int>? {
        switch self {
        case .none:
            return nil
        case .mp3:
            let list = Self.mp3List(at: sampleRateHz)
            return list[0]...list[list.count - 1]
        case .perFrame(let minimum, let bits, let samples):
            return minimum...max(minimum, bits * channelCount * sampleRateHz / samples)
        case .perChannel(let minimum, let maximum):
            return minimum...(maximum * channelCount)
        }
    }

    /// Whether a bit rate is taken at this rate and with so many channels.
    public func contains(_ bitRate: Int, sampleRateHz: Int, channelCount: Int) -> Bool {
        if self == .mp3 { return Self.mp3List(at: sampleRateHz).contains(bitRate) }
        return bounds(sampleRateHz: sampleRateHz, channelCount: channelCount)?.contains(bitRate) ?? false
    }

    /// The highest one that is not above `bitRate`, else the lowest.
    func nearest(to bitRate: Int, sampleRateHz: Int, channelCount: Int) -> Int? {
        guard let bounds = bounds(sampleRateHz: sampleRateHz, channelCount: channelCount) else { return nil }
        let within = min(max(bitRate, bounds.lowerBound), bounds.upperBound)
        return self == .mp3 ? Self.mp3List(at: sampleRateHz).last { $0 <= within } : within
    }

    /// As a refusal lists it, in bits per second.
    public func title(sampleRateHz: Int, channelCount: Int) -> String {
        if self == .mp3 { return Self.mp3List(at: sampleRateHz).map { String($0) }.joined(separator: ", ") }
        guard let bounds = bounds(sampleRateHz: sampleRateHz, channelCount: channelCount) else { return "none" }
        return "\(bounds.lowerBound) to \(bounds.upperBound)"
    }
}
