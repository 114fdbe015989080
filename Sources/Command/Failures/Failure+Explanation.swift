import API
import Console
import Conversion

extension Failure {
    /// Why the source was refused: the rule, what the source promises and what was found, and the command that takes its
    /// sound as it is. Of a failure that no rule about sources explains: what its code means.
    ///
    /// `command` is `nil` if the sound was taken as it is already.
    func explanation(_ command: String?) -> [String] {
        var lines = contradiction?.lines ?? []
        if lines.isEmpty, let entry = known?.entry {
            lines = ["meaning: \(entry.meaning.unmarked)", "usual cause: \(entry.cause.unmarked)"]
        }
        if let command, mayBeTakenAsItIs { lines.append("to take the sound as it is: \(command)") }
        return lines.map(\.printable)
    }

    /// Whether the packets may give sound that a rule refuses.
    private var mayBeTakenAsItIs: Bool {
        contradiction != nil || known == .implausibleLength
    }
}

extension Contradiction {
    /// The rule, what the source promises, and what was found.
    var lines: [String] {
        let meaning = known.map { "\($0.rawValue), \($0.meaning)" }
        return ["rule: \(meaning ?? rule)"] + (promised.map { ["promised: \($0)"] } ?? []) + ["found: \(found)"]
    }
}
