import Conversion
import Media

/// Compares finished outputs with the specs that their recipe asks for: decodes each again.
struct OutputJudgement {
    private let recipe: Recipe
    private let destinations: [Int32]
    private let signal: StopSignal
    private let budget: Budget
    /// The processor time of the thread when the job began.
    private let jobStart: Duration

    /// Throws if an output with a spec cannot be read again. `budget` is that of the job, which begins now.
    init(
        _ recipe: Recipe,
        _ destinations: [Int32],
        within budget: Budget,
        streaming: Bool,
        stop signal: StopSignal
    ) throws {
        (self.recipe, self.destinations, self.signal) = (recipe, destinations, signal)
        (self.budget, jobStart) = (budget, BudgetWatch.now())
        guard streaming, recipe.outputs.contains(where: { $0.spec != nil }) else { return }
        throw MediaError(
            .destinationNotSeekable,
            at: .open,
            "an output with a spec is read again when it is finished, and a pipe cannot be",
            hint: "write to a file and copy it, or leave out the spec"
        )
    }

    /// The reports with what the specs of their outputs say. Throws `spec_broken` if outputs break limits; the message has
    /// those of all outputs. `last` is the last progress of the conversion, after which frames count as verified.
    func run(
        on reports: [ConversionReport],
        after last: ConversionProgress?,
        report: @escaping (ConversionProgress) -> Void
    ) throws -> [ConversionReport] {
        let count = recipe.outputs.count
        // If only waveforms have destinations, there is no sound to judge.
        guard destinations.count >= count, recipe.outputs.contains(where: { $0.spec != nil }) else { return reports }
        guard destinations.count == count, reports.count == count else {
            let counts = "\(count) outputs, \(destinations.count) destinations, \(reports.count) reports"
            throw Failure(.unexpected, at: .finish, "the outputs cannot be compared with their specs: \(counts)")
        }
        var judged = reports
        var verified = last?.verifiedFrames ?? 0
        var broken: [(index: Int, verdict: SpecVerdict)] = []
        for (index, output) in recipe.outputs.enumerated() {
            guard let spec = output.spec else { continue }
            do {
                let before = verified
                let found = try describe(destinations[index], reports[index]) { frames in
                    guard var progress = last else { return }
                    progress.verifiedFrames = before + frames
                    report(progress)
                }
                verified = before + (found.scan?.frames ?? 0)
                let verdict = spec.verdict(on: found)
                judged[index].spec = SpecReport(verdict)
                if !verdict.passes { broken.append((index, verdict)) }
            } catch {
                var failure = error
                if recipe.outputs.count > 1 { failure.output = index + 1 }
                throw failure
            }
        }
        guard let first = broken.first else { return judged }
        var failure = Self.failure(first.verdict, Array(broken.dropFirst()))
        if recipe.outputs.count > 1 { failure.output = first.index + 1 }
        throw failure
    }

    /// Throws `verify_mismatch` if the output has damage, as `verify` does: silence in place of it would be measured.
    private func describe(
        _ destination: Int32,
        _ written: ConversionReport,
        report: @escaping (Int64) -> Void
    ) throws(Failure) -> SourceReport {
        let probe = SourceProbe(output: written.format, within: budget, since: jobStart, stop: signal)
        do {
            return try probe.describe(destination, measuring: true, surveying: true) { report($0.frames) }
        } catch {
            // Of an output of which nothing more is read, any error is possible.
            if signal.isStopped { throw Failure(.cancelled, at: .finish, "the conversion was cancelled") }
            // What ends the reading says nothing about the output.
            let ends: [FailureCode] = [.cancelled, .decodedSecondsExceeded, .cpuExceeded, .unable, .outOfMemory]
            if let code = error.known, ends.contains(code) { throw error }
            if error.known == .noDecodableFrame, written.plannedFrames == 0 {
                throw Failure(.specBroken, at: .finish, "the output has no sound that a spec could accept")
            }
            throw Failure(
                .verifyMismatch,
                at: .finish,
                "the output cannot be decoded: \(error.code), \(error.message)",
                libavName: error.libavName,
                libavText: error.libavText
            )
        }
    }

    /// The failure for an output, and for others of the job that break limits, too.
    private static func failure(_ verdict: SpecVerdict, _ others: [(index: Int, verdict: SpecVerdict)]) -> Failure {
        let further = others.map { "; output \($0.index + 1) breaks \(limits(of: $0.verdict))" }.joined()
        let verdicts = [verdict] + others.map { $0.verdict }
        let levels: Set<SpecRule.Quantity> = [.loudness, .rms, .samplePeak, .truePeak]
        let breaksLevels = verdicts.flatMap(\.broken).contains { levels.contains($0.rule) }
        let probe = "without the spec the output is written: see \"sluice probe --spec \(verdict.spec)\""
        let options = breaksLevels ? "; --loudness and --true-peak set the levels" : ""
        let message = "the output breaks \(limits(of: verdict))\(further)"
        return Failure(.specBroken, at: .finish, message, hint: probe + options)
    }

    /// `1 limit of acx: room tone at end 0.40 s at 1:02.3 (allowed: 1 to 5 s)`
    private static func limits(of verdict: SpecVerdict) -> String {
        let limits = verdict.broken.map { rule in
            let place = rule.at.map { " at \($0.converted(to: 100, rounding: .towardNegativeInfinity))" } ?? ""
            return "\(rule.rule.title) \(rule.measured)\(place) (allowed: \(rule.limit))"
        }
        return "\(Plural.count(limits.count, "limit")) of \(verdict.spec): \(limits.joined(separator: "; "))"
    }
}
