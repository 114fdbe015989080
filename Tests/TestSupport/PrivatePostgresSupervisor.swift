import Foundation
import Synchronization

/// A shell that owns a server's folder and processes, and removes both when the tests end, however they end.
///
/// It reads commands from a pipe that only this process holds open. When the pipe closes, even because this
/// process was killed, the shell stops what it started and removes the folder. PostgreSQL refuses to run as root,
/// so under root the shell and its children run as `postgres`.
final class PrivatePostgresSupervisor: Sendable {
    /// The folder that the supervisor creates and removes.
    let folder: String
    private let words: OpenPipe
    private let answers: OpenPipe
    private let child: ChildProcess
    /// Serialises commands: one command, then its answer.
    private let turn = Mutex(())

    /// Starts `script`, which defines the shell functions `obey` (runs a command with its argument) and `finish`
    /// (stops everything).
    ///
    /// The script finds its folder in `$home` and `values` from `$1` on. If the path of the folder is too long for
    /// a socket, the server does not start.
    init(script: String, values: [String], in parent: String = "/tmp") throws {
        var template = Array("\(parent)/sluice-pg-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SupportError("create a folder for a server", errno: errno) }
        folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let program = """
            home=$1; shift
            cd "$home" || exit 1
            umask 077
            # A client that has gone away must not keep it from clearing away.
            trap '' PIPE
            \(script)
            while read -r word argument; do
                obey "$word" "$argument" >>"$home/supervisor.log" 2>&1 </dev/null
                echo "$?"
            done
            finish >/dev/null 2>&1 </dev/null
            cd /
            rm -rf "$home"
            """
        var command = ["sh", "-c", program, "sh", folder] + values
        if getuid() == 0 {
            guard let account = getpwnam("postgres") else {
                throw SupportError("start a server as root", "there is no account postgres; run scripts/prepare test")
            }
            guard chown(folder, account.pointee.pw_uid, account.pointee.pw_gid) == 0 else {
                throw SupportError("hand \(folder) to postgres", errno: errno)
            }
            command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] + command
        }
        words = try OpenPipe.open()
        answers = try OpenPipe.open()
        child = try ChildProcess.spawn(
            command[0],
            Array(command.dropFirst()),
            environment: nil,
            folder: nil,
            input: words.reading,
            output: answers.writing,
            errors: answers.writing
        )
        words.closeReading()
        answers.closeWriting()
    }

    deinit {
        words.closeWriting()
        _ = child.wait(until: .now + .seconds(60))
        // Where /tmp belongs to root alone, the shell empties the folder and cannot remove it, because it runs as
        // `postgres`.
        rmdir(folder)
    }

    /// Sends a command and waits for its end. Throws with the end of the log if the command failed.
    func obey(_ word: String, _ argument: String = "") throws {
        try turn.withLock { _ in
            let line = Array("\(word) \(argument)\n".utf8)
            guard write(words.writing, line, line.count) == line.count else {
                throw SupportError("tell a server to \(word)", errno: errno)
            }
            let answer = try nextLine(for: word)
            guard answer == "0" else {
                throw SupportError("have a server \(word)", "status \(answer)\n\(log("supervisor.log"))\n\(log("log"))")
            }
        }
    }

    /// The last `bytes` of a log file in the folder.
    func log(_ name: String, last bytes: Int = 3_000) -> String {
        guard let data = FileManager.default.contents(atPath: folder + "/" + name) else { return "" }
        return String(decoding: data.suffix(bytes), as: UTF8.self)
    }

    private func nextLine(for word: String) throws -> String {
        let deadline = ContinuousClock.now + .seconds(600)
        var line: [UInt8] = []
        while line.last != UInt8(ascii: "\n") {
            var waited = pollfd(fd: answers.reading, events: Int16(POLLIN), revents: 0)
            guard poll(&waited, 1, ChildProcess.milliseconds(until: deadline)) != 0 else {
                throw SupportError("have a server \(word)", "no answer in time\n\(log("log"))")
            }
            var byte: UInt8 = 0
            let count = read(answers.reading, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { throw SupportError("have a server \(word)", "its supervisor ended") }
            line.append(byte)
        }
        return String(decoding: line.dropLast(), as: UTF8.self)
    }
}
