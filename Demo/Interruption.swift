import Foundation

/// Signals that ask for an end. They are waited for and never break in, so that what was begun is always cleaned up.
enum Interruption {
    /// Thrown when one of them has come.
    struct Stop: Error {
        let signal: Int32
    }

    private static let ends = [SIGINT, SIGTERM, SIGHUP]

    /// From here on the signals stay pending until they are asked for.
    static func begin() {
        var set = awaited()
        sigprocmask(SIG_BLOCK, &set, nil)
        // The reader of the output may go away, as `head` does; what runs is then ended in order all the same.
        signal(SIGPIPE, SIG_IGN)
    }

    /// Throws if one has come.
    static func check() throws {
        var (set, now) = (awaited(withChildren: false), timespec())
        let number = sigtimedwait(&set, nil, &now)
        if number > 0 { throw Stop(signal: number) }
    }

    /// Waits for the end of a child and its group; signals that come meanwhile are passed on to them, or kept for later.
    /// Answers how it ended.
    static func waitForEnd(of child: pid_t, passingOn passesOn: Bool) throws -> Int32 {
        var came: Int32?
        while true {
            var status: Int32 = 0
            // Looked at before waiting: SIGCHLD may stand for several children.
            if waitpid(child, &status, WNOHANG) == child {
                if let came { throw Stop(signal: came) }
                // One that came when the child was about to end counts all the same.
                try check()
                return status
            }
            var set = awaited()
            let number = sigwaitinfo(&set, nil)
            guard number > 0, number != SIGCHLD else { continue }
            came = number
            if passesOn { kill(-child, number) }
        }
    }

    private static func awaited(withChildren: Bool = true) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in ends { sigaddset(&set, number) }
        if withChildren { sigaddset(&set, SIGCHLD) }
        return set
    }
}
