import Conversion
import Glibc
import Media

/// What `sluice pump-room` is: the inside of a room, where recipes are carried out and nothing else can be reached.
public enum RoomProcess {
    /// The descriptor of the socket to the slot.
    public static let socket: Int32 = 3
    /// The command's name.
    public static let word = "pump-room"

    /// Works until the slot hangs up. Called first thing in a process, on its only thread.
    public static func run() -> Never {
        guard Datagram.isSocket(socket) else {
            giveUp("sluice starts this for itself; there is nothing to do with it by hand", status: 64)
        }
        settle()
        preload()
        NurseryProcess.branchOff()
        // The slot's first message says how far to go. Nothing else has been read by then, and the process has one thread.
        let rules = RoomDesk.hearRules(on: socket)
        let desk = RoomDesk(socket: socket)
        let level = RoomLock.close(rules) { desk.startThreads() }
        desk.open(level)
    }

    /// Arranges how the process dies and how it shares the processor.
    private static func settle() {
        // Swift's runtime answers a crash by starting a program that prints where it was. A room starts nothing, and dies of
        // what kills it: that program's work done, the runtime lets a process go on that was merely sent the signal.
        for number in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] { signal(number, SIG_DFL) }
        // Too large a file and a closed pipe are errors where they happen, not the end of a room.
        signal(SIGXFSZ, SIG_IGN)
        signal(SIGPIPE, SIG_IGN)
        // A terminal is nothing to read from in a group of its own: that is an error too, where it would stop the room.
        signal(SIGTTIN, SIG_IGN)
        signal(SIGTTOU, SIG_IGN)
        // Dies with the thread that started it. Had that ended before this line, the socket would be closed.
        RoomLock.diesWithItsStarter()
        // Workers have beats to give in between. A room that may not be polite is no less of a room.
        _ = nice(5)
        offerItselfFirst()
    }

    /// Where memory runs out, the kernel should take a room, never the worker.
    private static func offerItselfFirst() {
        let file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC)
        // Without /proc the kernel goes by size, which mostly comes to the same.
        guard file >= 0 else { return }
        _ = retryingInterrupts { write(file, "500", 3) }
        close(file)
    }

    /// Brings in what the work needs, while it can still be opened.
    private static func preload() {
        _ = RoomLibraries.versions
        ProcessMemory.prepareForManyConversions()
        RoomMemory.prepare()
    }

    /// Ends the room with its last words.
    static func giveUp(_ words: String, status: Int32 = 70) -> Never {
        let line = Array("sluice \(word): \(words)\n".utf8)
        _ = retryingInterrupts { write(2, line, line.count) }
        _exit(status)
    }
}
