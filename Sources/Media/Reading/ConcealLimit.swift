/// How much silence may stand for missing sound unless the caller says otherwise.
///
/// A header of a few bytes can promise days. What is really there bounds what can be missing.
enum ConcealLimit {
    /// Silence for each frame of sound.
    static let factor: Int64 = 4
    /// Silence that short sources may have besides.
    static let seconds: Int64 = 600

    /// More than any codec here makes of a byte: FLAC's longest block of silence takes ten.
    private static let framesPerByte: Int64 = 8192

    /// Whether a source of `bytes` may be as long as it promises: what is missing would be concealed.
    static func allows(_ promise: LengthPromise, of stream: InputStream, in bytes: Int64?) -> Bool {
        guard let bytes, let promised = promise.frames else { return true }
        let frameBytes = max(stream.blockAlign, stream.pcmBytesPerFrame)
        let there =
            stream.isPCM && frameBytes > 0
            ? bytes / Int64(frameBytes) : Int64(clamping: Int128(bytes) * Int128(framesPerByte))
        return promised <= frames(beside: there, stream.sampleRateHz)
    }

    /// The greater of the two, for a source of `frames` of sound.
    static func frames(beside frames: Int64, _ rate: Int) -> Int64 {
        max(frames.multipliedReportingOverflow(by: factor).overflow ? .max : frames * factor, seconds * Int64(rate))
    }
}
