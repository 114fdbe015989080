import Glibc

/// The failure of a test helper: the operation, and the reason in words.
public struct SupportError: Error, CustomStringConvertible {
    /// What the helper tried to do.
    public let operation: String
    /// Why it failed.
    public let detail: String

    public init(_ operation: String, _ detail: String) {
        self.operation = operation
        self.detail = detail
    }

    /// Describes `number`, an `errno` value.
    public init(_ operation: String, errno number: Int32) {
        self.init(operation, "\(String(cString: strerror(number))) (errno \(number))")
    }

    /// Operation and detail in one line.
    public var description: String { "\(operation): \(detail)" }
}
