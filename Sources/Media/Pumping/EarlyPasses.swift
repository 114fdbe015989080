import Conversion

/// The passes over the sources that come before the conversion itself, such as measuring. Together they report as many
/// frames as one pass would, so that progress grows evenly and stays within the bounds of a job.
final class EarlyPasses {
    private let count: Int64
    private let report: Pump.Report?
    /// What the passes that are over have reported.
    private(set) var measured: Int64 = 0
    private var finished: Int64 = 0
    private var nextReport: Int64 = 0

    /// `report` gets the progress of `count` passes.
    init(_ count: Int, report: Pump.Report?) {
        self.count = Int64(max(1, count))
        self.report = report
    }

    /// Called after a block of a pass that has read `frames` of `total` frames; reports once for each second of sound.
    func advance(to frames: Int64, of total: Int64?, rate: Int) {
        guard let report, frames >= nextReport else { return }
        nextReport = frames + Int64(rate)
        report(.measuring(measured + frames / count, of: total, rate: rate))
    }

    /// Called at the end of a pass that has read `frames`.
    func finish(_ frames: Int64) {
        measured += frames / count
        finished += 1
        nextReport = 0
    }

    /// Called instead of a pass that is not needed after all: it counts as much as the one before.
    func skip() { measured += measured / max(1, finished) }

    /// The report for what follows.
    var following: Pump.Report? {
        guard let report else { return nil }
        guard measured > 0 else { return report }
        return { [measured] progress in report(progress.following(measured)) }
    }
}
