import Console
import Glibc

/// Asks for confirmation before a change that is hard to undo.
enum Question {
    static let yes = Switch("yes", letter: "y", "do not ask for confirmation", in: .general)
    static let dryRun = Switch("dry-run", "show what would be done, and change nothing", in: .general)

    /// Whether a person at a terminal can answer.
    static func canBeAsked(_ console: CommandOutput) -> Bool { isatty(STDIN_FILENO) == 1 && console.talk.isTerminal }

    /// Returns whether to go on. The question begins with the context in use. Throws without a terminal: no user
    /// can have agreed to a question that was not shown.
    static func agrees(to what: String, _ invocation: Invocation, _ console: CommandOutput) throws -> Bool {
        if invocation[yes] { return true }
        // Name the context: the same ids in another ledger are other people's jobs.
        let context = try LedgerOptions.contextInUse(invocation)
        guard canBeAsked(console) else {
            let place = context.map { " in context \($0.name)" } ?? ""
            throw Refusal(message: "would \(what)\(place); use --yes to skip the question", exitCode: .usage)
        }
        let place = context.map { console.talk.paint("context \($0.name)", $0.ink) + ": " } ?? ""
        do throws(Outlet.Failure) {
            try console.talk.write("\(place)\(what)? [y/N] ")
        } catch {
            return false  // the user cannot have read the question
        }
        let answer = readLine()?.lowercased() ?? ""
        return answer == "y" || answer == "yes"
    }
}
