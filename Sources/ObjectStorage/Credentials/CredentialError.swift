/// Why there are no credentials. Contains no secret.
package struct CredentialError: Error, Sendable, Hashable, CustomStringConvertible {
    /// For users: a sentence without a full stop.
    package let why: String
    /// What the user can do.
    package let hint: String?
    /// Whether the same may succeed later: a server does not answer.
    package let isTemporary: Bool
    /// Whether this machine seems to have no server of credentials at all, which waiting does not change.
    let isAbsence: Bool

    init(_ why: String, hint: String? = nil, isTemporary: Bool = false, isAbsence: Bool = false) {
        self.why = why
        self.hint = hint
        self.isTemporary = isTemporary
        self.isAbsence = isAbsence
    }

    package var description: String { why }
}
