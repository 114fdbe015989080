import CSandbox
import Glibc

/// The last words of a process that made a system call which its lock does not allow: the call's number.
enum LastCall {
    private static let words = "sluice \(RoomProcess.word): stopped at system call "
    private static let digits = 4

    /// Made beforehand: what runs in a signal's handler may not allocate. Written to by the handler alone, which does not return.
    nonisolated(unsafe) private static let line: UnsafeMutableBufferPointer<UInt8> = {
        let text = Array((words + String(repeating: "0", count: digits) + "\n").utf8)
        let line = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: text.count)
        _ = line.initialize(from: text)
        return line
    }()

    /// Has the process say which call it was before SIGSYS ends it.
    static func prepare() {
        _ = line
        var action = sigaction()
        action.sa_flags = SA_SIGINFO
        action.__sigaction_handler.sa_sigaction = { _, information, _ in
            // SYS_SECCOMP: not a signal from another process, which tells of no call.
            if let information, information.pointee.si_code == 1 {
                LastCall.say(information.pointee._sifields._sigsys._syscall)
            }
            // SIGSYS is held back while its handler runs. The kernel lets no process go on that makes a forbidden call
            // then, and this is one.
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

    /// The name of the call that `text` tells of; `nil` where it tells of none.
    static func name(in text: String?) -> String? {
        guard let text, let range = text.firstRange(of: words),
            let number = Int32(text[range.upperBound...].prefix(digits))
        else { return nil }
        guard let name = seccomp_syscall_resolve_num_arch(seccomp_arch_native(), number) else { return "\(number)" }
        defer { free(name) }
        return String(cString: name)
    }
}
