/// Words that make no command, or a setting that is none: what is wrong, and what would be right.
struct UsageError: Error, Hashable {
    /// Without a full stop: `there is no command "covnert"; did you mean "convert"?`
    let message: String
    let hint: String?
    /// Words on the command line are wrong use, variables in the environment wrong configuration.
    let exitCode: ExitCode

    init(_ message: String, hint: String? = nil, exitCode: ExitCode = .usage) {
        self.message = message
        self.hint = hint
        self.exitCode = exitCode
    }
}
