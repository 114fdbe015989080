/// What a shell may offer for a word.
package enum Completion: Sendable {
    case nothing
    case files
    /// Folders behind a name and `=`.
    case namedFolders
    /// The complete set.
    case words([Candidate])
    /// A few of many.
    case suggestions([Candidate])
    /// The names of the commands.
    case commands
    /// Candidates that have to be looked up when the user presses Tab.
    case lookedUp(any CandidateSource)
    /// Some that are known, and others that have to be looked up.
    case wordsAndLookedUp([Candidate], any CandidateSource)

    package struct Candidate: Sendable, Hashable {
        package let word: String
        package let summary: String

        package init(word: String, summary: String = "") { (self.word, self.summary) = (word, summary) }
    }
}

/// Supplies candidates that no command knows beforehand.
package protocol CandidateSource: Sendable {
    /// The candidates that begin with `typed`. Prints nothing, and answers soon: the user waits at the Tab key.
    ///
    /// `words` is the command line so far.
    func candidates(typed: String, words: [String], environment: [String: String]) -> [Completion.Candidate]
}
