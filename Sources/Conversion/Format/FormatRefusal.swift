/// Why a format cannot be written: every field that does not fit, not only the first.
public struct FormatRefusal: Error, Sendable, Hashable, CustomStringConvertible {
    /// At least one.
    public var reasons: [Reason]

    /// A refusal for `reasons`.
    public init(reasons: [Reason]) {
        self.reasons = reasons
    }

    /// One wrong field.
    public struct Reason: Sendable, Hashable, Codable, CustomStringConvertible {
        /// In the command's words: `codec`, `rate`, `channels`, `layout`, `depth`, `kind`, `dither`,
        /// `endian`, `interleaving`, `bitrate`, `quality`, `length`; or `source`, if no format could be made of that.
        public var field: String
        /// What was asked.
        public var value: String
        /// The rule that was broken.
        public var why: String
        /// What would have been taken.
        public var allowed: String
        /// What to do instead, if something can be said.
        public var hint: String?

        /// A reason in five parts.
        public init(field: String, value: String, why: String, allowed: String, hint: String? = nil) {
            self.field = field
            self.value = value
            self.why = why
            self.allowed = allowed
            self.hint = hint
        }

        /// `endian little: AIFF is big-endian; allowed: big`
        public var description: String { "\(field) \(value): \(why); allowed: \(allowed)" }
    }

    /// One line per reason, without the hints.
    public var description: String { reasons.map(\.description).joined(separator: "\n") }
}
