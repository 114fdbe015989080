import Conversion
import Glibc
import Media
import PumpRoom
import System

/// The process of `sluice-room`: it carries out recipes and can reach nothing else.
public enum RoomProcess {
    private static let socket = RoomStart.socket

    /// Works until the slot hangs up. Call it first in the process, on its only thread.
    ///
    /// `words` are those after the program's name. A slot passes none. The others print the version, for people, or the
    /// libraries, for `sluice`.
    public static func run(_ words: [String]) -> Never {
        switch words {
        case [] where Datagram.isSocket(socket): work()
        case ["--version"]:
            let libraries = RoomLibraries.loaded
            answer((["\(RoomStart.name) \(libraries.build)"] + libraries.lines).joined(separator: "\n"))
        case [RoomStart.librariesWord]: answer(RoomLibraries.loaded.json)
        default: giveUp("internal program: sluice starts it itself", status: 64)
        }
    }

    private static func work() -> Never {
        settle()
        preload()
        ForkServer.branchOff()
        // The slot's first message holds the rules for the lock. Until it arrives, the process has read no
        // untrusted data and has one thread.
        let rules = RequestLoop.hearRules(on: socket)
        if let formats = rules.formats { Allowlist.narrow(to: formats) }
        let loop = RequestLoop(socket: socket)
        let level = RoomLock.close(rules) { loop.startThreads() }
        loop.open(level)
    }

    /// Prints `text` as a line, and ends.
    private static func answer(_ text: String) -> Never {
        let line = Array("\(text)\n".utf8)
        // The answer is shorter than what a pipe takes at once.
        _exit(retryingInterrupts { write(STDOUT_FILENO, line, line.count) } == line.count ? 0 : 74)
    }

    /// Sets how the process handles signals, when it dies with its parent, and its scheduling priority.
    private static func settle() {
        // After a crash, the handlers of Swift's runtime start a program that prints a backtrace. A room must start
        // nothing. It must also die of these signals, but after that program the runtime lets a process continue if
        // the signal was merely sent to it.
        for number in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] { signal(number, SIG_DFL) }
        // Writing too large a file or to a closed pipe is then an error of that call, and does not end the room.
        signal(SIGXFSZ, SIG_IGN)
        signal(SIGPIPE, SIG_IGN)
        // Reading the terminal from a background process group is then an error; by default it would stop the room.
        signal(SIGTTIN, SIG_IGN)
        signal(SIGTTOU, SIG_IGN)
        // A slot starts the file by the number of its descriptor, which would be the name in lists of processes.
        SystemThread.nameCurrent(RoomStart.name)
        // The room dies with the thread that started it. If that thread ended before this line,
        // the socket is closed already.
        RoomLock.diesWithItsStarter()
        // The worker's heartbeats take precedence. If the priority cannot be lowered, the room works all the same.
        _ = nice(5)
        offerItselfFirst()
    }

    /// Makes the kernel prefer a room to the worker when memory runs out.
    private static func offerItselfFirst() {
        let file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC)
        // Without /proc the kernel goes by size, which usually has the same effect.
        guard file >= 0 else { return }
        _ = retryingInterrupts { write(file, "500", 3) }
        close(file)
    }

    /// Loads what conversions need while files can still be opened.
    private static func preload() {
        _ = LibAV.libraries
        ProcessMemory.prepareForManyConversions()
        RoomMemory.prepare()
    }

    /// Exits with `words` on standard error.
    static func giveUp(_ words: String, status: Int32 = 70) -> Never {
        let line = Array("\(RoomStart.name): \(words)\n".utf8)
        _ = retryingInterrupts { write(2, line, line.count) }
        _exit(status)
    }
}
