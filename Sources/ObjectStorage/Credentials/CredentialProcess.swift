import Glibc
import System

/// The program that a profile names with `credential_process`. It prints credentials as JSON.
enum CredentialProcess {
    /// What the program prints. Runs it without a shell, and blocks until it has ended or `timeLimit` is over.
    static func run(
        _ command: String,
        environment: [String: String],
        timeLimit: Duration
    ) throws(CredentialError) -> [UInt8] {
        guard let words = words(of: command), let program = words.first else {
            throw CredentialError("credential_process is empty, or a quotation mark in it has no end")
        }
        let output: SharedDescriptor
        let id: pid_t
        do throws(SystemError) { (output, id) = try start(words, environment) } catch {
            throw CredentialError("cannot start credential_process \(program): \(systemText(error.number))")
        }
        let deadline: SuspendingClock.Instant = .now + timeLimit
        let bytes = read(output, until: deadline)
        // It may close its output and stay. What it has left behind ends with it.
        let rest = bytes == nil ? .zero : SuspendingClock.now.duration(to: deadline)
        let status = StartedProcess.end(of: id, within: rest, leadsGroup: true)
        guard let bytes, let status else {
            let seconds = timeLimit.components.seconds
            throw CredentialError("credential_process \(program) did not end within \(seconds) s, or printed 1 MiB")
        }
        guard status == 0 else {
            throw CredentialError(
                "credential_process \(program) failed",
                hint: "run the command of the profile to see why"
            )
        }
        return bytes
    }

    /// The bytes up to the end of the pipe; `nil` if they are too many, or do not end in time.
    private static func read(_ pipe: SharedDescriptor, until deadline: SuspendingClock.Instant) -> [UInt8]? {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let rest = SuspendingClock.now.duration(to: deadline)
            guard rest > .zero else { return nil }
            var waited = [pollfd(fd: pipe.number, events: Int16(POLLIN), revents: 0)]
            let ready = poll(&waited, 1, Int32(clamping: Int(rest / .milliseconds(1)) + 1))
            guard ready > 0 else { continue }
            let count = retryingInterrupts { Glibc.read(pipe.number, &piece, piece.count) }
            guard count >= 0, bytes.count + count <= SmallFile.longest else { return nil }
            guard count > 0 else { return bytes }
            bytes += piece[..<count]
        }
    }

    /// Starts the program. The result is what it prints and its process id. The pipe ends with the program, because its other
    /// end is closed here when this returns.
    private static func start(
        _ words: [String],
        _ environment: [String: String]
    ) throws(SystemError) -> (SharedDescriptor, pid_t) {
        let output = try Pipe.open()
        var process = ProcessStart()
        // What it says may contain secrets, and goes to no log.
        process.streams = [(0, .nothingToRead), (1, .descriptor(output.writing.number)), (2, .discarded)]
        process.closesFrom = 3
        process.group = .own
        defer { withExtendedLifetime(output) {} }
        let id = try process.start(words[0], words, environment: environment, searching: true)
        return (output.reading, id)
    }

    /// The words of a command line, as a shell splits it: quotation marks and backslashes keep spaces. `nil` if a quotation
    /// mark has no end.
    static func words(of command: String) -> [String]? {
        var words: [String] = []
        var (word, isWord) = ("", false)
        var quote: Character?
        var rest = command.makeIterator()
        while let character = rest.next() {
            if let mark = quote {
                if character == mark {
                    quote = nil
                } else if character == "\\", mark == "\"" {
                    guard let next = rest.next() else { return nil }
                    if next != "\"", next != "\\" { word.append(character) }
                    word.append(next)
                } else {
                    word.append(character)
                }
            } else if character == "\"" || character == "'" {
                (quote, isWord) = (character, true)
            } else if character == "\\" {
                guard let next = rest.next() else { return nil }
                word.append(next)
                isWord = true
            } else if character.isWhitespace {
                if isWord { words.append(word) }
                (word, isWord) = ("", false)
            } else {
                word.append(character)
                isWord = true
            }
        }
        if isWord { words.append(word) }
        return quote == nil ? words : nil
    }
}
