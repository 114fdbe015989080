import Console
import Ledger

/// `sluice doctor`: checks the ledger and this machine, and prints how to fix what is wrong.
enum DoctorCommand {
    private static let json = Switch("json", "print a line of JSON for each finding", in: .output)

    static let value = Subcommand(
        name: "doctor",
        summary: "check the health of the ledger and of this machine",
        discussion: [
            "Each line is the result of a check. If it is not ok, the next line says what to do. Nothing is changed.",
            "It examines what the services of this machine use: it reads the same --config file.",
        ],
        options: [ServiceOptions.root.form, ServiceFile.option.form] + LedgerOptions.databaseForms + [json.form],
        examples: [
            Example(line: "sluice doctor --root archive=/mnt/archive", purpose: "before you start a worker here")
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let invocation = try ServiceFile.completing(invocation)
        let machine = MachineExamination(roots: try LedgerOptions.roots(invocation))
        let ledger = LedgerExamination(configuration: try LedgerOptions.configuration(invocation))
        let result = ForegroundWork.run { () async -> [Finding] in
            await ledger.findings() + (await machine.findings())
        }
        if let signal = result.signal { return signal }
        let findings = result.value
        for finding in findings {
            if invocation[json] {
                try console.print(JSONText.line(finding))
            } else {
                for line in lines(of: finding, on: console.data) { try console.print(line) }
            }
        }
        return findings.contains { $0.verdict == .fail } ? .failure : .success
    }

    private static func lines(of finding: Finding, on outlet: Outlet) -> [String] {
        let (word, ink): (String, Ink) =
            switch finding.verdict {
            case .ok: ("ok  ", .good)
            case .warn: ("warn", .careful)
            case .fail: ("FAIL", .bad)
            }
        let margin = String(repeating: " ", count: 6)
        func text(_ words: String) -> String {
            let lines = outlet.hasWidth ? words.wrapped(to: max(20, outlet.width - margin.count)) : [words]
            return lines.joined(separator: "\n" + margin)
        }
        let head = outlet.paint(word, ink) + "  " + text("\(finding.subject): \(finding.message)")
        return [head] + (finding.hint.map { [margin + text($0)] } ?? [])
    }
}
