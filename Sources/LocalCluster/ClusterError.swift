import Glibc
import System

/// Why the private cluster cannot be used.
package struct ClusterError: Error, Sendable {
    package let code: Code
    package let message: String
    package let details: [String]
    package let hint: String?

    /// What kind of problem it is.
    package enum Code: Sendable {
        /// Something on this machine is missing or set up wrongly.
        case configuration
        case permission
        /// The cluster does not answer; a retry may help.
        case unreachable
        case failure
    }

    init(_ message: String, details: [String] = [], hint: String? = nil, code: Code = .configuration) {
        (self.code, self.message, self.details, self.hint) = (code, message, details, hint)
    }

    /// The error of a failed system call.
    init(_ number: Int32, _ operation: String) {
        self.init(
            "cannot \(operation): \(systemText(number))",
            code: number == EACCES || number == EPERM ? .permission : .failure
        )
    }
}
