import CSystem
import Foundation

/// A running program in its own process group. The owner must call `wait` or `kill`.
package struct ChildProcess: Sendable {
    package let id: Int32
    /// Where the process's status comes from if it is the child of a server.
    var server: WarmStart.Reply?

    /// Starts a program with the given descriptors as its standard streams; it inherits no other descriptor.
    ///
    /// Without `input` it reads /dev/null. Signal dispositions are the defaults of a login shell, whatever the
    /// test runner has set. With `keepsLoaded`, a server that has loaded the program forks it.
    package static func spawn(
        _ name: String,
        _ arguments: [String],
        environment: [String: String]?,
        folder: String?,
        input: Int32?,
        output: Int32,
        errors: Int32,
        keepsLoaded: Bool = false
    ) throws -> ChildProcess {
        if keepsLoaded,
            let child = try WarmStart.of(name).spawn(arguments, folder, environment, (input, output, errors))
        {
            return child
        }
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
        _ = posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        if let folder { _ = posix_spawn_file_actions_addchdir_np(&actions, folder) }

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var noSignals = sigset_t()
        sigemptyset(&noSignals)
        // The child does not inherit ignored signals, which the test runner has if it was started in the
        // background, for example.
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

    /// Waits for the program to end. Returns `nil` if the deadline passes first.
    package func wait(until deadline: ContinuousClock.Instant?) -> Run.Status? {
        if let server { return server.status(until: deadline).map(Self.status) }
        var status: Int32 = 0
        var end: ProcessEnd?
        while true {
            let answer = waitpid(id, &status, deadline == nil ? 0 : WNOHANG)
            if answer == id { break }
            if answer < 0 {
                precondition(errno == EINTR, "only this code waits for our child")
                continue
            }
            guard Self.milliseconds(until: deadline) > 0 else { return nil }
            let awaited = end ?? ProcessEnd(of: id)
            end = awaited
            _ = awaited.wait(until: deadline)
        }
        return Self.status(status)
    }

    /// What a status of `waitpid` means.
    private static func status(_ status: Int32) -> Run.Status {
        let signal = status & 0x7F
        return signal == 0 ? .exited((status >> 8) & 0xFF) : .signalled(signal)
    }

    /// Kills the program and every process in its group, and waits until the program is gone.
    package func kill() {
        _ = Foundation.kill(-id, SIGKILL)
        _ = wait(until: nil)
    }

    /// The timeout argument for `poll`: milliseconds, rounded up, or -1 without a deadline.
    package static func milliseconds(until deadline: ContinuousClock.Instant?) -> Int32 {
        guard let deadline else { return -1 }
        let left = deadline - ContinuousClock.now
        guard left > .zero else { return 0 }
        return Int32(clamping: Int((left / .milliseconds(1)).rounded(.up)))
    }
}
