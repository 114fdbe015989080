/// Uncompressed audio as in memory or in a file: interleaved little-endian samples.
public struct PCM: Sendable, Equatable {
    /// How one sample is stored. 8-bit samples are unsigned; 24-bit samples are packed in three bytes.
    public enum SampleFormat: String, Sendable, CaseIterable {
        case u8, s16, s24, s32, f32, f64

        /// The bits of one sample.
        public var bits: Int {
            switch self {
            case .u8: 8
            case .s16: 16
            case .s24: 24
            case .s32, .f32: 32
            case .f64: 64
            }
        }

        /// Whether samples are floating point; full scale is 1.
        public var isFloat: Bool { self == .f32 || self == .f64 }

        /// The bytes of one sample.
        public var bytes: Int { bits / 8 }
    }

    /// In hertz.
    public let rate: Int
    /// Samples per frame.
    public let channels: Int
    /// How each sample is stored.
    public let format: SampleFormat
    /// The samples, frame after frame.
    public let bytes: [UInt8]

    /// Takes `bytes` unchanged; they must be whole frames.
    public init(rate: Int, channels: Int, format: SampleFormat, bytes: [UInt8]) {
        precondition(channels > 0 || bytes.isEmpty, "samples lie in channels")
        precondition(bytes.count.isMultiple(of: max(1, channels * format.bytes)), "samples come in whole frames")
        self.rate = rate
        self.channels = channels
        self.format = format
        self.bytes = bytes
    }

    /// The bits of one sample.
    public var bits: Int { format.bits }
    /// Whether samples are floating point; full scale is 1.
    public var isFloat: Bool { format.isFloat }
    /// The bytes of one frame.
    public var bytesPerFrame: Int { channels * format.bytes }
    /// The length in frames.
    public var frames: Int { bytesPerFrame == 0 ? 0 : bytes.count / bytesPerFrame }
    /// The length in seconds.
    public var seconds: Double { Double(frames) / Double(rate) }

    /// The frames in `range`; throws if `range` reaches outside the audio.
    public func cut(_ range: Range<Int>) throws -> PCM {
        guard range.lowerBound >= 0, range.upperBound <= frames else {
            throw SupportError("cut frames \(range)", "there are only \(frames) frames")
        }
        let cut = bytes[range.lowerBound * bytesPerFrame..<range.upperBound * bytesPerFrame]
        return PCM(rate: rate, channels: channels, format: format, bytes: Array(cut))
    }

    /// All `parts` in order; throws unless they share rate, channels and sample format.
    public static func joined(_ parts: [PCM]) throws -> PCM {
        guard let first = parts.first else { throw SupportError("join audio", "no parts were given") }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(parts.reduce(0) { $0 + $1.bytes.count })
        for part in parts {
            guard part.rate == first.rate, part.channels == first.channels, part.format == first.format else {
                throw SupportError("join audio", "\(part) does not follow \(first)")
            }
            bytes += part.bytes
        }
        return PCM(rate: first.rate, channels: first.channels, format: first.format, bytes: bytes)
    }

    /// The frames in reverse order.
    public func reversed() -> PCM {
        var reversed: [UInt8] = []
        reversed.reserveCapacity(bytes.count)
        for frame in stride(from: frames - 1, through: 0, by: -1) {
            reversed += bytes[frame * bytesPerFrame..<(frame + 1) * bytesPerFrame]
        }
        return PCM(rate: rate, channels: channels, format: format, bytes: reversed)
    }

    /// This audio, then `next`; throws unless they share rate, channels and sample format.
    public func followed(by next: PCM) throws -> PCM { try PCM.joined([self, next]) }

    /// The same samples in another format: exact if it has enough bits, rounded and clipped otherwise.
    public func converted(to format: SampleFormat) -> PCM {
        format == self.format ? self : signal.pcm(format)
    }

    /// The samples as doubles; full scale is 1.
    public var signal: Signal { Signal(rate: rate, channels: (0..<channels).map { samples(channel: $0) }) }

    /// The samples of one channel as doubles; full scale is 1.
    public func samples(channel: Int) -> [Double] {
        precondition(channel >= 0 && channel < channels, "the channel exists")
        return bytes.withUnsafeBytes { format.doubles($0, first: channel, stride: channels, count: frames) }
    }

    /// Every `step`th frame, which is enough for sounds that are low for the rate.
    public func everyFrame(_ step: Int) -> PCM {
        guard step > 1 else { return self }
        var kept: [UInt8] = []
        for frame in stride(from: 0, to: frames, by: step) {
            kept += bytes[frame * bytesPerFrame..<(frame + 1) * bytesPerFrame]
        }
        return PCM(rate: rate / step, channels: channels, format: format, bytes: kept)
    }
}

extension PCM: CustomStringConvertible {
    /// Rate, channels, format and length in one line.
    public var description: String { "PCM(\(rate) Hz, \(channels) ch, \(format.rawValue), \(frames) frames)" }
}
