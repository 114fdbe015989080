import Console
import Conversion
import Glibc
import Ledger
import System

/// A command of the user that runs once the jobs that `wait` and `submit --wait` wait for have ended.
struct EndCommand {
    static let option = Option<String>(
        "on-end",
        .text.named("COMMAND"),
        "run COMMAND in a shell once all have ended, with facts in its environment",
        in: .general
    )

    /// In the words of a shell.
    let command: String

    /// `nil` if the user named none.
    init?(_ invocation: Invocation) {
        guard let command = invocation[Self.option] else { return nil }
        self.command = command
    }

    /// What the command finds in its environment.
    static func facts(of ending: Waiting.Ending) -> [String: String] {
        let counts = ending.state.counts
        // Linux takes no variable of more than 128 KiB.
        func list(_ numbers: [Int64]) -> String {
            let text = numbers.map { "\($0)" }.joined(separator: " ")
            return text.utf8.count <= 100_000 ? text : ""
        }
        return [
            "SLUICE_BATCH": list(ending.state.batches.map(\.batch)),
            "SLUICE_JOB": list(ending.state.jobs.map(\.job)),
            "SLUICE_COMPLETED": "\(counts.completed)", "SLUICE_SKIPPED": "\(counts.skipped)",
            "SLUICE_FAILED": "\(counts.failed)", "SLUICE_ACCEPTED": "\(counts.accepted)",
            "SLUICE_CANCELLED": "\(counts.cancelled)",
            "SLUICE_EXIT_CODE": "\(ending.exitCode.rawValue)",
        ]
    }

    /// Runs the command to its end, unless the wait timed out. Returns the exit code of `wait`: that of the wait, or 1
    /// if everything was completed and the command failed.
    func run(
        after ending: Waiting.Ending,
        _ environment: [String: String],
        on console: CommandOutput
    ) -> ExitCode {
        guard !ending.isTimedOut else { return ending.exitCode }
        let facts = environment.merging(Self.facts(of: ending)) { $1 }
        guard let problem = Self.problem(running: command, facts) else { return ending.exitCode }
        console.warn("the command of --on-end \(problem)")
        return ending.exitCode == .success ? .failure : ending.exitCode
    }

    /// Runs the command with the terminal and the streams of this process. `nil` if it succeeded.
    private static func problem(running command: String, _ variables: [String: String]) -> String? {
        var process = ProcessStart()
        // This process ignores it.
        process.ordinarySignals = [SIGPIPE]
        let id: pid_t
        do throws(SystemError) {
            id = try process.start("/bin/sh", ["sh", "-c", command], environment: variables)
        } catch {
            return "cannot be started: \(systemText(error.number))"
        }
        var status: Int32 = 0
        while waitpid(id, &status, 0) < 0 {
            guard errno == EINTR else { return "was lost: \(String(cString: strerror(errno)))" }
        }
        let signal = status & 0x7F
        guard signal == 0 else { return "was ended by signal \(signal)" }
        let code = status >> 8 & 0xFF
        return code == 0 ? nil : "ended with exit code \(code)"
    }
}
