import Conversion
import Ledger
import Storage

extension Failure {
    /// A job was stopped because it was cancelled.
    static let cancelled = Failure(
        code: "cancelled",
        kind: .infrastructure,
        stage: "release",
        message: "the job was cancelled; nothing of its output is left"
    )

    /// What the room made is not what it had to make.
    static func framesDiffer(_ report: ConversionReport) -> Failure {
        Failure(
            code: "frame_count_mismatch",
            kind: .permanent,
            stage: "finish",
            message: "\(report.plannedFrames) frames were planned and \(report.writtenFrames) written"
        )
    }

    /// Any error in the words of the house.
    init(_ error: any Error) {
        switch error {
        case let error as LedgerError: self = error.failure
        case let error as StorageError: self = error.failure
        case let error as Failure: self = error
        default:
            self.init(code: "unexpected", kind: .infrastructure, stage: "ledger", message: "\(error)")
        }
    }
}

extension AttemptFacts {
    init(_ report: ConversionReport, slot: Int?, cpu: Duration?, peakBytes: Int64?) {
        let rate = Double(report.format.sampleRateHz)
        self.init(
            slot: slot.map { Int16(clamping: $0) },
            framesIn: report.source.frames,
            framesOut: report.writtenFrames,
            audio: rate > 0 ? .seconds(Double(report.writtenFrames) / rate) : nil,
            cpu: cpu,
            peakBytes: peakBytes,
            report: report
        )
    }
}
