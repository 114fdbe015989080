/// A number that can be a sample in memory.
public protocol PCMSample: BitwiseCopyable, Sendable {
    /// The interleaved format whose samples are such numbers.
    static var sampleFormat: SampleFormat { get }
}

/// 128 is silence.
extension UInt8: PCMSample {
    public static var sampleFormat: SampleFormat { .u8 }
}

extension Int16: PCMSample {
    public static var sampleFormat: SampleFormat { .s16 }
}

/// 24-bit sound lies in the upper bits.
extension Int32: PCMSample {
    public static var sampleFormat: SampleFormat { .s32 }
}

extension Int64: PCMSample {
    public static var sampleFormat: SampleFormat { .s64 }
}

/// Full scale is 1.
extension Float: PCMSample {
    public static var sampleFormat: SampleFormat { .f32 }
}

/// Full scale is 1.
extension Double: PCMSample {
    public static var sampleFormat: SampleFormat { .f64 }
}
