import CSandbox
import Glibc

/// Reports, on standard error, the number of the forbidden system call that ended the process.
enum LastCall {
    private static let words = "\(RoomStart.name): forbidden system call "
    private static let digits = 4

    /// Allocated beforehand, because a signal handler may not allocate. Only the handler writes
    /// to it, and it does not return.
    nonisolated(unsafe) private static let line: UnsafeMutableBufferPointer<UInt8> = {
        let text = Array((words + String(repeating: "0", count: digits) + "\n").utf8)
        let line = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: text.count)
        _ = line.initialize(from: text)
        return line
    }()

    /// Has the process write the number of the call before SIGSYS ends it.
    static func prepare() {
        _ = line
        var action = sigaction()
        action.sa_flags = SA_SIGINFO
        action.__sigaction_handler.sa_sigaction = { _, information, _ in
            // SYS_SECCOMP. A SIGSYS sent by another process names no call.
            if let information, information.pointee.si_code == 1 {
                LastCall.say(information.pointee._sifields._sigsys._syscall)
            }
            // SIGSYS is blocked while its handler runs. If a process makes a forbidden call in that state, the
            // kernel kills it; getppid is one.
            _ = getppid()
        }
        sigaction(SIGSYS, &action, nil)
    }

    private static func say(_ number: Int32) {
        var rest = max(0, number)
        for place in 0..<digits {
            line[line.count - 2 - place] = UInt8(truncatingIfNeeded: 0x30 + rest % 10)
            rest /= 10
        }
        _ = write(2, line.baseAddress, line.count)
    }

    /// The name of the call that `text` reports, or its number if it has no name; `nil` if `text` reports none.
    static func name(in text: String?) -> String? {
        guard let text, let range = text.firstRange(of: words),
            let number = Int32(text[range.upperBound...].prefix(digits))
        else { return nil }
        guard let name = seccomp_syscall_resolve_num_arch(seccomp_arch_native(), number) else { return "\(number)" }
        defer { free(name) }
        return String(cString: name)
    }
}
