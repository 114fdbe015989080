import Glibc

/// What a helper could not do: the operation, and the reason for people.
public struct SupportError: Error, CustomStringConvertible {
    /// What was tried.
    public let operation: String
    /// Why it failed.
    public let detail: String

    /// Says what was tried and why it failed.
    public init(_ operation: String, _ detail: String) {
        self.operation = operation
        self.detail = detail
    }

    /// Names the operation and spells out `number`, by default what the last C call left in `errno`.
    public init(_ operation: String, errno number: Int32) {
        self.init(operation, "\(String(cString: strerror(number))) (errno \(number))")
    }

    /// Both in one line.
    public var description: String { "\(operation): \(detail)" }
}
