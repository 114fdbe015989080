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

    /// The same failure, which names the output at `place` if a job has several.
    func of(output place: Int, in prepared: PreparedJob) -> Failure {
        guard prepared.plan.count > 1 else { return self }
        var failure = self
        failure.output = place + 1
        return failure.naming(prepared.locations.map(\.description))
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
    /// `reports` has one for each output that was made, at least one. Of outputs that are `pieces`, the facts count the
    /// sound of all; of others, that of the first.
    init(_ reports: [ConversionReport], pieces: Bool = false, slot: Int?, cpu: Duration?, peakBytes: Int64?) {
        let report = reports[0]
        let counted = pieces ? reports : [report]
        let seconds = counted.reduce(0.0) { $0 + Double($1.writtenFrames) / Double(max(1, $1.format.sampleRateHz)) }
        self.init(
            slot: slot.map { Int16(clamping: $0) },
            framesIn: report.source.frames,
            framesOut: Int64(clamping: counted.reduce(Int128(0)) { $0 + Int128($1.writtenFrames) }),
            audio: report.format.sampleRateHz > 0 ? .seconds(seconds) : nil,
            cpu: cpu,
            peakBytes: peakBytes,
            report: report,
            further: Array(reports.dropFirst())
        )
    }
}
