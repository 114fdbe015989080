import Console

/// The result of one check.
struct Finding: Sendable, Encodable {
    enum Verdict: String, Sendable, Encodable { case ok, warn, fail }

    let verdict: Verdict
    /// What was checked: `server`, `schema`, `role`, `root archive`.
    let subject: String
    /// The result, in one line.
    let message: String
    /// What to do about a warning or a failure.
    let hint: String?

    static func ok(_ subject: String, _ message: String) -> Finding {
        Finding(verdict: .ok, subject: subject, message: message, hint: nil)
    }

    static func warn(_ subject: String, _ message: String, _ hint: String) -> Finding {
        Finding(verdict: .warn, subject: subject, message: message, hint: hint)
    }

    static func fail(_ subject: String, _ message: String, _ hint: String) -> Finding {
        Finding(verdict: .fail, subject: subject, message: message, hint: hint)
    }
}
