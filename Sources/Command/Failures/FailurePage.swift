import Console
import Conversion

/// A failure for people: what failed, where, why, and what to do next.
struct FailurePage {
    private let failure: Failure
    private let source: String?
    private let destination: String?
    private let invocation: Invocation
    /// What to add for a user who asked why; empty for others.
    private let explanation: [String]

    init(
        _ failure: Failure,
        source: String?,
        destination: String? = nil,
        explanation: [String] = [],
        invocation: Invocation
    ) {
        self.failure = failure
        self.explanation = explanation
        self.source = source.map { $0 == "-" ? "standard input" : $0.printable }
        self.destination = destination.map { $0 == "-" ? "standard output" : $0.printable }
        self.invocation = invocation
    }

    func show(on console: CommandOutput) {
        console.complain(headline, details: details(all: console.showsDebug), hint: failure.hint?.printable)
    }

    /// `damaged.mp3 is damaged at 3:12.48 (frame 8,488,368): invalid main data`
    private var headline: String {
        let message = failure.message.printable
        if let refusals = failure.refusals, !refusals.isEmpty {
            return refusals.map { refusal in
                let said = FormatOptions.wish(for: refusal.field, value: refusal.value, invocation)
                return "\(said ?? "\(refusal.field) \(refusal.value)"): \(refusal.why); allowed: \(refusal.allowed)"
                    .printable
            }.joined(separator: "\n")
        }
        if failure.known?.isDamage == true { return "\(source ?? "the source") is damaged\(place): \(message)" }
        // Messages of Storage already name the operation and the file; others need the file's name in front.
        let isNamed = message.hasPrefix("cannot ")
        guard let subject, !isNamed else { return message + place }
        return "\(subject): \(message)\(place)"
    }

    /// The file that the failed stage worked on.
    private var subject: String? {
        if failure.output != nil { return destination ?? source }
        return switch Failure.Stage(rawValue: failure.stage) {
        case .open, .probe, .decode: source
        default: destination ?? source
        }
    }

    private var place: String {
        guard let position = failure.position else { return "" }
        return " at \(position.short)" + (failure.frame.map { " (frame \(Figures.grouped($0)))" } ?? "")
    }

    private func details(all: Bool) -> [String] {
        var facts = ["code \(failure.code)", "stage \(failure.stage)"]
        if let stream = failure.stream { facts.append("stream \(stream)") }
        if let name = failure.libavName { facts.append("libav \(name)") }
        var lines = [facts.joined(separator: ", ")] + explanation
        guard all else { return lines }
        lines.append("class \(failure.kind.rawValue)")
        if let text = failure.libavText { lines.append("libav message: \(text.printable)") }
        if let position = failure.position { lines.append("position \(position.rationalDescription)") }
        if let source { lines.append("source \(source)") }
        if let destination { lines.append("destination \(destination)") }
        lines += Version.allLines
        return lines
    }
}

extension Failure {
    /// The exit code for scripts.
    var exitCode: ExitCode { known.map { ExitCode($0) } ?? .failure }
}

extension MediaTime {
    /// To a hundredth of a second, for people.
    var short: String {
        let hundredths = converted(to: 100, rounding: .towardNegativeInfinity)
        return hundredths.isNumeric ? MediaTime(value: hundredths.value, timescale: 100).description : description
    }
}
