/// A number type that can hold a sample.
public protocol PCMSample: BitwiseCopyable, Sendable {
    /// The interleaved sample format of this type.
    static var sampleFormat: SampleFormat { get }
}

/// 128 is silence.
extension UInt8: PCMSample {
    public static var sampleFormat: SampleFormat { .u8 }
}

extension Int16: PCMSample {
    public static var sampleFormat: SampleFormat { .s16 }
}

/// 24-bit audio lies in the upper bits.
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
