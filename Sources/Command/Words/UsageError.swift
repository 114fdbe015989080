/// An invalid command line or setting: what is wrong, and what would be right.
struct UsageError: Error, Hashable {
    /// Without a full stop: `unknown command "covnert"; did you mean "convert"?`
    let message: String
    let hint: String?
    /// Wrong words on the command line are usage errors; wrong variables are configuration errors.
    let exitCode: ExitCode

    init(_ message: String, hint: String? = nil, exitCode: ExitCode = .usage) {
        self.message = message
        self.hint = hint
        self.exitCode = exitCode
    }
}
