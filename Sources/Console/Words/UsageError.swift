/// An invalid command line or setting: what is wrong, and what would be right.
package struct UsageError: Error, Hashable {
    /// Without a full stop: `unknown command "covnert"; did you mean "convert"?`
    package let message: String
    package let hint: String?
    /// Wrong words on the command line are usage errors; wrong variables are configuration errors.
    package let exitCode: ExitCode

    package init(_ message: String, hint: String? = nil, exitCode: ExitCode = .usage) {
        self.message = message
        self.hint = hint
        self.exitCode = exitCode
    }
}
