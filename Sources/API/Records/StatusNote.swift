/// A problem that needs an operator's attention.
package struct StatusNote: Sendable, Hashable {
    package enum Kind: Sendable {
        /// Jobs wait, and no worker is running.
        case noWorkers
        /// No process runs the ledger's housekeeping, or one of its chores fails.
        case housekeeping
        /// A worker reports what keeps it from work.
        case trouble
        /// No running worker can do the jobs of a queue.
        case unable
        /// Jobs wait in a queue that is paused.
        case paused
        /// A tenant has used up what it may use in a day.
        case held
        /// Jobs have failed for good lately, or workers were lost.
        case failures, losses
        /// Deliveries to webhooks wait, and no coordinator sends them.
        case webhooks
        /// The ledger or workers are of another version than the program that looks.
        case versions
    }

    package let kind: Kind
    package let text: String
    /// What a person types to see more.
    package let command: String?

    package init(_ kind: Kind, _ text: String, command: String? = nil) {
        (self.kind, self.text, self.command) = (kind, text, command)
    }

    /// The note in a terminal, where nothing can be clicked.
    package var line: String { command.map { "\(text): \($0)" } ?? text }
}
