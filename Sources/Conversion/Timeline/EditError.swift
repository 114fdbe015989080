/// Why a timeline cannot be edited as asked.
public struct EditError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of mistake.
    public enum Code: String, Sendable, Hashable {
        /// The timeline has no track with this index.
        case noSuchTrack
        /// A time is negative or not a number, or a length is not above 0.
        case timeNotAllowed
        /// The place depends on a source whose length was not given.
        case unknownLength
        /// Two pieces overlap at this time.
        case insideCrossfade
    }

    /// The kind of mistake; callers may branch on it.
    public let code: Code
    /// What is wrong, for the user.
    public let detail: String

    init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    public var description: String { detail }
}
