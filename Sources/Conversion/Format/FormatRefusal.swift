/// Why a format cannot be written: every field that does not fit, not only the first.
public struct FormatRefusal: Error, Sendable, Hashable, CustomStringConvertible {
    /// Never empty.
    public var reasons: [Reason]

    public init(reasons: [Reason]) {
        self.reasons = reasons
    }

    /// One wrong field.
    public struct Reason: Sendable, Hashable, Codable, CustomStringConvertible {
        /// The field, as the command line names it: `codec`, `rate`, `channels`, `layout`, `depth`, `kind`,
        /// `dither`, `endian`, `interleaving`, `bitrate`, `quality`, `length`; or `source`, if no format could be
        /// derived from the source.
        public var field: String
        /// The requested value.
        public var value: String
        /// The rule that the value breaks.
        public var why: String
        /// The accepted values.
        public var allowed: String
        /// What to do instead; `nil` if there is no advice.
        public var hint: String?

        public init(field: String, value: String, why: String, allowed: String, hint: String? = nil) {
            self.field = field
            self.value = value
            self.why = why
            self.allowed = allowed
            self.hint = hint
        }

        /// For example `endian little: AIFF is big-endian; allowed: big`.
        public var description: String { "\(field) \(value): \(why); allowed: \(allowed)" }
    }

    /// One line per reason, without the hints.
    public var description: String { reasons.map(\.description).joined(separator: "\n") }
}
