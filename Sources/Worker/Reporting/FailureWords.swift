import Conversion
import Ledger
import Storage

extension Failure {
    /// The room wrote another number of frames than planned.
    static func framesDiffer(_ report: ConversionReport) -> Failure {
        Failure(
            .frameCountMismatch,
            at: .finish,
            "expected \(Plural.count(report.plannedFrames, "frame")), but wrote \(report.writtenFrames)"
        )
    }

    /// Any error as a `Failure`.
    init(_ error: any Error) {
        switch error {
        case let error as LedgerError: self = error.failure
        case let error as StorageError: self = error.failure
        case let error as Failure: self = error
        default:
            self.init(.workerError, at: .ledger, "\(error)")
        }
    }
}

extension AttemptFacts {
    /// `reports` has one for each output that was made, at least one.
    init(_ reports: [ConversionReport], slot: Int?, cpu: Duration?, peakBytes: Int64?) {
        let report = reports[0]
        let rate = Double(report.format.sampleRateHz)
        self.init(
            slot: slot.map { Int16(clamping: $0) },
            framesIn: report.source.frames,
            framesOut: report.writtenFrames,
            audio: rate > 0 ? .seconds(Double(report.writtenFrames) / rate) : nil,
            cpu: cpu,
            peakBytes: peakBytes,
            report: report,
            further: Array(reports.dropFirst())
        )
    }
}
