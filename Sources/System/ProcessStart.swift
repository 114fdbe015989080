import Glibc

/// How a program is started: as a process that inherits no blocked signals, and descriptors only as it says here.
///
/// The value is the one place with calls of `posix_spawn`, so no starter forgets a part of it.
package struct ProcessStart: Sendable {
    /// What a descriptor of the program is.
    package enum Stream: Sendable {
        case descriptor(Int32)
        case file(String, flags: Int32, mode: UInt32 = 0)

        package static let nothingToRead = Stream.file("/dev/null", flags: O_RDONLY)
        package static let discarded = Stream.file("/dev/null", flags: O_WRONLY)
    }

    /// The process group of the program, which a terminal signals as a whole.
    package enum Group: Sendable {
        case ofThisProcess
        /// It leads a group.
        case own
        /// It leads a session, which has no terminal.
        case ownSession
    }

    /// The program's descriptors that are not those of this process. They are set in this order, so that one may be made of
    /// another. Their owners must live until `start` has returned.
    package var streams: [(number: Int32, stream: Stream)] = []
    /// The lowest number of the descriptors that the program does not inherit; `nil`: it inherits all without `O_CLOEXEC`.
    package var closesFrom: Int32?
    /// Signals that have their ordinary effect, although this process may ignore or handle them; `nil`: all.
    package var ordinarySignals: [Int32]?
    package var group = Group.ofThisProcess

    package init() {}

    /// Starts `program` and returns the process id, which the caller must wait for. `words` are its arguments from its own name
    /// on, and `environment` is all that it gets. With `searching`, a name without a slash is looked for in `PATH`.
    package func start(
        _ program: String,
        _ words: [String],
        environment: [String: String] = [:],
        searching: Bool = false
    ) throws(SystemError) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, stream) in streams {
            switch stream {
            case .descriptor(let source): posix_spawn_file_actions_adddup2(&actions, source, number)
            case .file(let path, let flags, let mode):
                posix_spawn_file_actions_addopen(&actions, number, path, flags, mode)
            }
        }
        if let closesFrom { SystemCall.closeDescriptors(from: closesFrom, in: &actions) }

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var (none, ordinary) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        if let ordinarySignals {
            sigemptyset(&ordinary)
            for number in ordinarySignals { sigaddset(&ordinary, number) }
        } else {
            sigfillset(&ordinary)
        }
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &ordinary)
        var flags = Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF)
        switch group {
        case .ofThisProcess: break
        case .own:
            posix_spawnattr_setpgroup(&attributes, 0)
            flags |= Int16(POSIX_SPAWN_SETPGROUP)
        case .ownSession:
            // POSIX_SPAWN_SETSID, which the module map hides.
            flags |= 0x80
        }
        posix_spawnattr_setflags(&attributes, flags)

        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in arguments + variables { free(text) } }
        var id = pid_t()
        let problem =
            searching
            ? posix_spawnp(&id, program, &actions, &attributes, &arguments, &variables)
            : posix_spawn(&id, program, &actions, &attributes, &arguments, &variables)
        guard problem == 0 else { throw SystemError(call: "start \(program)", number: problem) }
        return id
    }
}
