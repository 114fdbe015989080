import Console
import Conversion
import Glibc
import Ledger
import Storage

/// The final output of `convert`, for people or for programs.
struct ConvertPage {
    let input: String
    /// As the user typed them.
    let outputs: [String]
    let recipe: Recipe
    let invocation: Invocation
    let console: CommandOutput

    func show(_ ending: FileConversion.Ending, asJSON: Bool) throws -> ExitCode {
        if asJSON { for record in records(ending) { try console.print(JSONText.line(record)) } }
        switch ending {
        case .completed(let written, let seconds):
            var told: [String] = []
            for output in written {
                guard let report = output.report else {
                    console.warn("\(output.output.printable) already exists; skipped")
                    continue
                }
                if !asJSON { try writeLine(line(output.output, report, seconds)) }
                // What is true of the source is said once, and not for every output.
                let new = remarks(report).filter { !told.contains($0) }
                for remark in new { console.warn(remark) }
                told += new
            }
            return .success
        case .failed(let failure) where isStream && failure.libavName == "EPIPE":
            throw Outlet.Failure(errorNumber: EPIPE)
        case .failed(let failure):
            // Of several outputs, only one that is known to have failed is named.
            let failed = failure.output.map { outputs[$0 - 1] } ?? (outputs.count == 1 ? outputs[0] : nil)
            FailurePage(
                failure,
                source: input,
                destination: failed,
                explanation: invocation[ConvertCommand.explain] ? failure.explanation(remedy(for: failure)) : [],
                invocation: invocation
            ).show(on: console)
            return failure.exitCode
        case .stopped(let code):
            tellOfEnd(by: code, "; nothing was written")
            return code
        }
    }

    /// Reports what is known when a signal ends this process before the conversion has ended.
    func surrender(to code: ExitCode) {
        let each = outputs.count == 1 ? "\(outputs[0].printable) is" : "each output is"
        tellOfEnd(by: code, " while publishing; \(each) either unchanged or complete")
    }

    /// How to take the sound as it is; `nil` if this command does, and if no command can.
    private func remedy(for failure: Failure) -> Failure.Remedy? {
        guard recipe.mayTrustPackets(in: failure) else { return nil }
        // What a header does not count is taken from files only.
        if failure.contradiction?.known == .countedBytes, !isFile { return nil }
        let trusting = [SourceOptions.onDamage.form.word, DamageMode.trustPackets.rawValue]
        guard recipe.permitsMovedSound else {
            guard recipe.soundSources.count == 1, isFile else { return nil }
            let track = recipe.sources[0].track.map { [SourceOptions.track.form.word, "\($0)"] } ?? []
            let files = (input.hasPrefix("-") ? ["--"] : []) + [input, "sound.wav"]
            return .first(command(["convert"] + track + trusting + files))
        }
        if let file = invocation[RecipeTemplate.option] { return .recipe(file) }
        let options = [SourceOptions.onDamage.form, SourceOptions.concealLimit.form, ConvertCommand.explain.form]
        return .command(command(invocation.line(replacing: options, by: trusting)))
    }

    private func command(_ words: [String]) -> String {
        (["sluice"] + words.map { ShellWord.quoted(PasswordField.hidden(in: $0)) }).joined(separator: " ")
    }

    /// Whether the source is a file that can be read again.
    private var isFile: Bool { input != "-" && FileFacts.of(path: input, followingLinks: true)?.kind == .file }

    private var isStream: Bool { outputs == ["-"] }

    private func tellOfEnd(by code: ExitCode, _ outcome: String) {
        let signal = code == .interrupted ? "Ctrl-C" : "SIGTERM"
        console.say("stopped by \(signal)\(isStream ? "; the output is incomplete" : outcome)")
    }

    /// The result goes to standard output, unless that carries the audio.
    private func writeLine(_ line: String) throws {
        if isStream { console.say(line) } else { try console.print(line) }
    }

    /// `talk.m4a  1:06:40  aac 256k 44.1 kHz stereo  122.9 MB  21.9 s (182x)  176,400,000 frames, all there`
    private func line(_ output: String, _ report: ConversionReport, _ seconds: Double) -> String {
        let source = report.source
        let length = Double(source.frames) / Double(max(1, source.sampleRateHz))
        let speed = seconds > 0 ? " (\(Figures.speed(length / seconds)))" : ""
        let whole = console.data.paint("complete", .good)
        let name = (output == "-" ? "standard output" : output).printable
        let facts = [
            Figures.length(frames: report.plannedFrames, rate: report.format.sampleRateHz),
            report.waveform.map(WaveformWords.short) ?? FormatWords.short(report.format), Figures.bytes(report.bytes),
            Figures.duration(seconds: seconds) + speed,
        ].joined(separator: "  ")
        let count = "\(Figures.count(report.plannedFrames, "frame")), "
        let remarks = report.briefRemarks.map { "; \($0)" } ?? ""
        let loudness = report.loudness?.reachedLUFS.map { ", \(LoudnessWords.lufs($0))" } ?? ""
        let verdict = (report.isVerified ? ", verified" : "") + loudness + remarks
        let columns = [name, facts, count + "complete" + verdict].reduce(4) { $0 + $1.displayWidth }
        // The result must not be cut off: if the line is too long, it moves to a second line.
        let breaks = console.data.hasWidth && columns > console.data.width
        let gap = breaks ? "\n" + String(repeating: " ", count: name.displayWidth + 2) : "  "
        return "\(console.data.paint(name, .strong))  \(facts)\(gap)\(count)\(whole)\(verdict)"
    }

    private func remarks(_ report: ConversionReport) -> [String] {
        report.remarkLines(source: input, onDamage: recipe.damage)
    }

    // MARK: For programs

    private struct Record: Encodable {
        let state: String
        let source: String
        let destination: String
        var seconds: Double?
        var conversion: ConversionReport?
        var failure: Failure?
    }

    /// One for each output.
    private func records(_ ending: FileConversion.Ending) -> [Record] {
        func record(_ state: String, _ output: String) -> Record {
            Record(state: state, source: input, destination: output)
        }
        switch ending {
        case .completed(let written, let seconds):
            return written.map { output in
                guard let report = output.report else { return record("skipped", output.output) }
                var done = record("completed", output.output)
                done.seconds = (seconds * 1000).rounded() / 1000
                done.conversion = report
                return done
            }
        case .stopped: return outputs.map { record("cancelled", $0) }
        case .failed(let failure):
            return outputs.map { output in
                var failed = record("failed", output)
                failed.failure = failure
                return failed
            }
        }
    }
}
