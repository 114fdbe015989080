import Glibc
import HostileActions
import PumpRoom

/// Plays a decoder that was taken over: locks itself as a room does, and then tries what the lock must prevent. Each
/// attack runs in a separate process, because most of them end it.
enum HostileAction {
    private static let usage = """
        usage: test-program hostile list
               test-program hostile locked|open ACTION FOLDER SOCKET PORT
        """

    static func run(_ words: [String]) {
        switch words.count {
        case 1 where words[0] == "list": list()
        case 5: attempt(words)
        default:
            say(usage)
            exit(64)
        }
    }

    private static func list() {
        for place in 0..<hostile_count() {
            say("\(String(cString: hostile_name(place))) \(hostile_is_possible(place) ? "possible" : "doubtful")")
        }
    }

    private static func attempt(_ words: [String]) {
        guard let place = (0..<hostile_count()).first(where: { String(cString: hostile_name($0)) == words[1] }) else {
            say("there is no action \(words[1])")
            exit(64)
        }
        let file = open("\(words[2])/open", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        let (folder, socket) = (strdup(words[2]), strdup(words[3]))
        var aim = hostile_aim(
            folder: folder,
            socket: socket,
            port: Int32(words[4]) ?? 0,
            file: file,
            parent: getppid()
        )
        // As in a room: writing beyond the file size limit is an error of that call.
        signal(SIGXFSZ, SIG_IGN)
        if words[0] == "locked" {
            let level = RoomLock.close()
            say(level.isComplete ? "locked" : "not locked: \(level)")
        }
        let problem = hostile_try(place, &aim)
        say(problem == 0 ? "succeeded" : "refused \(problem)")
    }

    /// Prints a line unbuffered, because the next call may end the process.
    private static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = write(1, bytes, bytes.count)
    }
}
