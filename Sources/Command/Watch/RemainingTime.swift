import Ledger

/// An estimate of how long the open jobs will take. It counts their sound, because files differ in length a thousandfold.
struct RemainingTime: Sendable, Hashable {
    let seconds: Double

    /// A running conversion whose worker has measured its speed.
    struct MeasuredConversion: Sendable, Hashable {
        /// Seconds of sound per second.
        let speed: Double
        /// Seconds to go at that speed, when they were measured.
        let told: Double
        /// Seconds to go at that speed now.
        let remaining: Double

        fileprivate var soundLeft: Double { speed * remaining }
        /// The seconds of sound in the whole job: on average, half of it was done.
        fileprivate var sound: Double { 2 * speed * told }
    }

    /// The ledger knows no length of a job that no room has opened. Such a job counts as the mean of those that ended recently
    /// and those that are measured. Where no sound is known, the estimate counts files. It is never shorter than what the
    /// longest conversion has to go; `nil` if neither a throughput nor a conversion is known.
    ///
    /// `claimed` is the number of running jobs that no room converts yet.
    init?(_ jobs: JobCounts, claimed: Int, _ throughput: RecentThroughput?, _ conversions: [MeasuredConversion]) {
        let measured = conversions.filter { $0.speed > 0 && $0.remaining >= 0 }
        let longest = conversions.reduce(0) { max($0, $1.remaining) }
        let count = measured.count + (throughput?.completed ?? 0)
        let sound = measured.reduce(throughput?.sound ?? 0) { $0 + $1.sound }
        let speed = Self.speed(max(0, jobs.running - claimed), throughput, measured)
        if count > 0, sound > 0, speed > 0 {
            let others = max(0, jobs.open - jobs.publishing - measured.count)
            let left = measured.reduce(Double(others) * sound / Double(count)) { $0 + $1.soundLeft }
            seconds = max(longest, left / speed)
        } else if let throughput, throughput.perSecond > 0 {
            seconds = max(longest, Double(jobs.open) / throughput.perSecond)
        } else if longest > 0 {
            seconds = longest
        } else {
            return nil
        }
    }

    /// Seconds of sound per second of all `converting` jobs together: as measured now if most of them are, else that of recent
    /// work. Short jobs end before they are measured, and long ones say nothing of recent work.
    private static func speed(_ converting: Int, _ throughput: RecentThroughput?, _ measured: [MeasuredConversion])
        -> Double
    {
        guard !measured.isEmpty, measured.count * 2 >= converting else { return throughput?.speed ?? 0 }
        let all = max(converting, measured.count)
        return measured.reduce(0) { $0 + $1.speed } * Double(all) / Double(measured.count)
    }
}
