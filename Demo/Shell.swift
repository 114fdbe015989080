import Foundation
import TestSupport

/// A shell that somebody watches: lines are shown as they are typed, and what they print goes where ours goes.
struct Shell {
    let folder: String
    /// All that the lines know of the environment.
    let environment: [String: String]
    let page: Page

    /// Shows a line, runs it, and throws unless it ends with `code`. A line of two parts is broken between them.
    func type(_ parts: String..., code: Int32 = 0) throws {
        page.typed(parts.joined(separator: " \\\n    "))
        try run(parts.joined(separator: " "), code: code)
        page.text("\n")
    }

    /// The same, where a Ctrl-C may not come in between: the line is finished, and then all is over.
    func typeWhole(_ line: String) throws {
        page.typed(line)
        try run(line, isShielded: true)
        page.text("\n")
    }

    /// What a line prints, unseen.
    func output(of line: String) throws -> String {
        try Run.program("bash", ["-c", line], environment: environment, folder: folder).checked().outputText
    }

    private func run(_ line: String, code: Int32 = 0, isShielded: Bool = false) throws {
        try Interruption.check()
        // What was shown so far stands before what the line prints.
        fflush(nil)
        let child = try start(["env", "--chdir", folder, "bash", "-c", line], isShielded: isShielded)
        let status = try Interruption.waitForEnd(of: child, passingOn: !isShielded)
        guard status == code << 8 else {
            throw SupportError(line, "it ended with \(status >> 8), signal \(status & 127)")
        }
    }

    private func start(_ words: [String], isShielded: Bool) throws -> pid_t {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var (none, ordinary) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigemptyset(&ordinary)
        for number in [SIGPIPE, SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGCHLD] { sigaddset(&ordinary, number) }
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &ordinary)
        // POSIX_SPAWN_SETSID, which the module map hides: the terminal's signals do not reach another session.
        let ownSession: Int16 = 0x80
        posix_spawnattr_setflags(
            &attributes,
            Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) | (isShielded ? ownSession : 0)
        )
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { (arguments + variables).forEach { free($0) } }
        var id = pid_t()
        let problem = posix_spawnp(&id, words[0], nil, &attributes, &arguments, &variables)
        guard problem == 0 else { throw SupportError("start \(words[0])", errno: problem) }
        return id
    }
}
