import Foundation

/// Signals that stop the demo. They stay blocked and are polled between steps, so that cleanup always runs.
enum Interruption {
    /// Thrown when a stop signal has arrived.
    struct Stop: Error {
        let signal: Int32
    }

    private static let ends = [SIGINT, SIGTERM, SIGHUP]

    /// Blocks the stop signals: from here on they stay pending until `check` or `waitForEnd` takes them.
    static func begin() {
        var set = awaited()
        sigprocmask(SIG_BLOCK, &set, nil)
        // The reader of the output may exit, as `head` does; the demo still shuts down in order.
        signal(SIGPIPE, SIG_IGN)
    }

    /// Throws if a stop signal is pending.
    static func check() throws {
        var (set, now) = (awaited(withChildren: false), timespec())
        let number = sigtimedwait(&set, nil, &now)
        if number > 0 { throw Stop(signal: number) }
    }

    /// Waits for a child to end and returns its wait status.
    ///
    /// Signals that arrive meanwhile go to the child's process group if `passesOn` is set. They are thrown once the
    /// child has ended.
    static func waitForEnd(of child: pid_t, passingOn passesOn: Bool) throws -> Int32 {
        var came: Int32?
        while true {
            var status: Int32 = 0
            // Check before waiting: one SIGCHLD may stand for several children.
            if waitpid(child, &status, WNOHANG) == child {
                if let came { throw Stop(signal: came) }
                // A signal that arrived as the child was ending counts too.
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
