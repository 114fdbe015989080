/// The default limit on the silence that may replace missing sound.
///
/// A header of a few bytes can promise days of sound. The sound that is present bounds what can be missing.
enum ConcealLimit {
    /// Frames of silence per frame of sound.
    static let factor: Int64 = 4
    /// Seconds of silence that a short source may have in any case.
    static let seconds: Int64 = 600

    /// Above the yield of every codec here: FLAC's longest block of silence takes ten bytes.
    private static let framesPerByte: Int64 = 8192

    /// Whether a source of `bytes` may be as long as it promises. Everything that is missing would be concealed.
    static func allows(_ promise: LengthPromise, of stream: InputStream, in bytes: Int64?) -> Bool {
        guard let bytes, let promised = promise.frames else { return true }
        let frameBytes = max(stream.blockAlign, stream.pcmBytesPerFrame)
        let there =
            stream.isPCM && frameBytes > 0
            ? bytes / Int64(frameBytes) : Int64(clamping: Int128(bytes) * Int128(framesPerByte))
        return promised <= frames(beside: there, stream.sampleRateHz)
    }

    /// Whether `frames` of silence are too many for sound that only the container says is missing, in a result of `whole`
    /// frames: more than 5 %, and more than a quarter of a second, which one packet of a short source may take.
    static func refuses(_ frames: Int64, of whole: Int64, _ rate: Int) -> Bool {
        frames > max(whole / 20, Int64(rate / 4))
    }

    /// The greater of the two limits, for a source with `frames` of sound.
    static func frames(beside frames: Int64, _ rate: Int) -> Int64 {
        max(frames.multipliedReportingOverflow(by: factor).overflow ? .max : frames * factor, seconds * Int64(rate))
    }
}
