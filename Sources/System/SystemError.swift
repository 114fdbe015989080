import CSystem
import Glibc

/// A system call that failed.
package struct SystemError: Error {
    package let call: String
    package let number: Int32

    package init(call: String, number: Int32) { (self.call, self.number) = (call, number) }

    /// `spawn: Cannot allocate memory`
    package var text: String { "\(call): \(systemText(number))" }
}

/// The system's text for an error number.
package func systemText(_ number: Int32) -> String {
    // strerror's buffer is shared by all threads.
    var buffer = [CChar](repeating: 0, count: 256)
    guard strerror_r(number, &buffer, buffer.count) == 0 else { return "errno \(number)" }
    return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// `ENOSPC`
package func systemName(_ number: Int32) -> String {
    strerrorname_np(number).map { String(cString: $0) } ?? "errno \(number)"
}

/// Repeats a call that fails with EINTR.
package func retryingInterrupts<Result: SignedInteger>(_ call: () -> Result) -> Result {
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}
