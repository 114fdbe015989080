import Console
import Conversion
import Ledger

/// A ledger error as a message for people, and its exit code for scripts.
struct LedgerFailurePage {
    let error: LedgerError

    func show(on console: CommandOutput) {
        var facts = ["code \(error.code.rawValue)", "while: \(error.operation)"]
        if let state = error.sqlState { facts.append("SQLSTATE \(state)") }
        var details = [facts.joined(separator: ", ")]
        if error.mayHaveHappened {
            details.append("the connection broke before the answer: the change may have been made")
        }
        if console.showsDebug { details += Version.lines }
        console.complain(error.detail.printable, details: details, hint: error.hint?.printable)
    }

    /// The ledger's functions raise `no_data_found` for a queue, batch, tenant or webhook that does not exist.
    var exitCode: ExitCode { error.sqlState == "P0002" ? .notFound : ExitCode(error.code) }
}
