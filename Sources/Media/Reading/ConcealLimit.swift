/// How much silence may stand for missing sound unless the caller says otherwise.
///
/// A header of a few bytes can promise days. What is really there bounds what can be missing.
enum ConcealLimit {
    /// Silence for each frame of sound.
    static let factor: Int64 = 4
    /// Silence that short sources may have besides.
    static let seconds: Int64 = 600

    /// The greater of the two, for a source of `frames` of sound.
    static func frames(beside frames: Int64, _ rate: Int) -> Int64 {
        max(frames.multipliedReportingOverflow(by: factor).overflow ? .max : frames * factor, seconds * Int64(rate))
    }
}
