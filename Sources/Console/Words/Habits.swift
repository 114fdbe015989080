/// Words that users know from other programs, and what to use instead.
package struct Habits: Sendable {
    /// What to use instead of an unknown option of `command`, which has `options`: `--rate HZ sets the sample rate`.
    /// `nil` if there is nothing to suggest.
    package let option: @Sendable (_ word: String, _ command: Subcommand, _ options: [OptionForm]) -> String?
    /// The words to use instead of an unknown command; `nil` if there is nothing to suggest.
    package let command: @Sendable (_ word: String) -> String?

    package init(
        option: @escaping @Sendable (_ word: String, _ command: Subcommand, _ options: [OptionForm]) -> String?,
        command: @escaping @Sendable (_ word: String) -> String?
    ) {
        (self.option, self.command) = (option, command)
    }
}
