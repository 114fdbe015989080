package import Foundation

/// A started program, in a process group of its own. Somebody must `wait` for it or `kill` it.
package struct ChildProcess: Sendable {
    package let id: pid_t

    /// Starts a program with the given descriptors as its standard ones; it inherits no other.
    ///
    /// Without an input it reads /dev/null. Signals are as after login, whatever the test runner does with them.
    package static func spawn(
        _ name: String,
        _ arguments: [String],
        environment: [String: String]?,
        folder: String?,
        input: Int32?,
        output: Int32,
        errors: Int32
    ) throws -> ChildProcess {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input {
            posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        posix_spawn_file_actions_adddup2(&actions, errors, 2)
        _ = GNUFunctions.addCloseFrom(&actions, 3)
        if let folder { _ = GNUFunctions.addChangeFolder(&actions, folder) }

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var noSignals = sigset_t()
        sigemptyset(&noSignals)
        // What the tests were started with, in the background say, is not passed on.
        var ordinary = noSignals
        for number in [SIGPIPE, SIGINT, SIGQUIT, SIGHUP, SIGTERM] { sigaddset(&ordinary, number) }
        posix_spawnattr_setsigmask(&attributes, &noSignals)
        posix_spawnattr_setsigdefault(&attributes, &ordinary)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes,
            Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF)
        )

        var words: [UnsafeMutablePointer<CChar>?] = ([name] + arguments).map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] =
            (environment ?? ProcessInfo.processInfo.environment).map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { (words + variables).forEach { free($0) } }
        var id = pid_t()
        let problem = posix_spawnp(&id, name, &actions, &attributes, &words, &variables)
        guard problem == 0 else {
            let reason = problem == ENOENT ? "no such program in PATH, or no such folder" : nil
            throw reason.map { SupportError("start \(name)", $0) } ?? SupportError("start \(name)", errno: problem)
        }
        return ChildProcess(id: id)
    }

    /// Waits for the end; `nil` if the deadline came first.
    package func wait(until deadline: ContinuousClock.Instant?) -> Run.Status? {
        var status: Int32 = 0
        var nap: Int32 = 1
        while true {
            let answer = waitpid(id, &status, deadline == nil ? 0 : WNOHANG)
            if answer == id { break }
            if answer < 0 {
                precondition(errno == EINTR, "nobody else waits for our child")
                continue
            }
            // Its outputs are closed, so it is about to end: look again soon.
            let left = Self.milliseconds(until: deadline)
            if left == 0 { return nil }
            poll(nil, 0, min(nap, left))
            nap = min(nap * 2, 20)
        }
        let signal = status & 0x7F
        return signal == 0 ? .exited((status >> 8) & 0xFF) : .signalled(signal)
    }

    /// Kills the program and all in its group, and waits until it is gone.
    package func kill() {
        _ = Foundation.kill(-id, SIGKILL)
        _ = wait(until: nil)
    }

    /// What poll wants to hear: milliseconds, rounded up, or -1 for ever.
    package static func milliseconds(until deadline: ContinuousClock.Instant?) -> Int32 {
        guard let deadline else { return -1 }
        let left = deadline - ContinuousClock.now
        guard left > .zero else { return 0 }
        return Int32(clamping: Int((left / .milliseconds(1)).rounded(.up)))
    }
}
