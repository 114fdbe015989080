public import Foundation

/// A program that has ended: its status and its output.
public struct Run: Sendable {
    /// How a program ended.
    public enum Status: Sendable, Equatable {
        case exited(Int32)
        case signalled(Int32)
        /// Killed, with its whole process group, because it exceeded its time limit.
        case timedOut(Duration)
    }

    /// What a program reads from its standard input.
    public enum Input: Sendable {
        case nothing
        case data(Data)
        /// An open descriptor, which the caller keeps open until the program has ended.
        case descriptor(Int32)
    }

    /// The program and its arguments, for failure messages.
    public let command: String
    /// How it ended.
    public let status: Status
    /// Everything it wrote to standard output.
    public let stdout: Data
    /// Everything it wrote to standard error.
    public let stderr: Data

    /// Standard output as text.
    public var outputText: String { String(decoding: stdout, as: UTF8.self) }

    /// Standard error as text.
    public var errorText: String { String(decoding: stderr, as: UTF8.self) }

    /// Whether it exited with 0.
    public var succeeded: Bool { status == .exited(0) }

    /// Returns this run if it exited with 0; otherwise throws with its standard error.
    @discardableResult
    public func checked() throws -> Run {
        guard succeeded else {
            // Some programs, such as `swift build`, write their errors to stdout.
            let words = [errorText, outputText].map { $0.suffix(2_000).trimmingCharacters(in: .whitespacesAndNewlines) }
            throw SupportError(command, "\(status), \(words.first { !$0.isEmpty } ?? "without a word")")
        }
        return self
    }

    /// Runs a program without a shell and waits for its end.
    ///
    /// A `name` without a slash is looked up in PATH. `environment` replaces that of this process; `nil` inherits
    /// it. After `limit` the program and its process group are killed; `nil` sets no limit. Throws if the program
    /// cannot start. Once a program has started with `keepsLoaded`, its later starts take a twentieth of the time.
    public static func program(
        _ name: String,
        _ arguments: [String] = [],
        input: Input = .nothing,
        environment: [String: String]? = nil,
        folder: String? = nil,
        limit: Duration? = .seconds(600),
        keepsLoaded: Bool = false
    ) throws -> Run {
        let command = ([name] + arguments).joined(separator: " ")
        let output = try OpenPipe.open()
        let errors = try OpenPipe.open()
        let feed: OpenPipe? = if case .data = input { try OpenPipe.open() } else { nil }
        let lent: Int32? =
            switch input {
            case .nothing: nil
            case .data: feed?.reading
            case .descriptor(let descriptor): descriptor
            }
        let child = try ChildProcess.spawn(
            name,
            arguments,
            environment: environment,
            folder: folder,
            input: lent,
            output: output.writing,
            errors: errors.writing,
            keepsLoaded: keepsLoaded
        )
        output.closeWriting()
        errors.closeWriting()
        feed?.closeReading()

        var conversation = Conversation(output: output, errors: errors, feed: feed)
        if case .data(let data) = input { conversation.toSend = data }
        let deadline = limit.map { ContinuousClock.now + $0 }
        let isInTime = conversation.run(until: deadline)
        if isInTime, let status = child.wait(until: deadline) {
            return Run(command: command, status: status, stdout: conversation.said, stderr: conversation.complained)
        }
        child.kill()
        conversation.takeWhatIsThere()
        let status = Status.timedOut(limit ?? .zero)
        return Run(command: command, status: status, stdout: conversation.said, stderr: conversation.complained)
    }
}

/// Feeds a program and reads its output at the same time, so that neither side blocks on a full pipe.
private struct Conversation {
    let output: OpenPipe
    let errors: OpenPipe
    let feed: OpenPipe?
    var toSend = Data()
    var said = Data()
    var complained = Data()
    private var sent = 0
    private var scratch = [UInt8](repeating: 0, count: 1 << 16)

    init(output: OpenPipe, errors: OpenPipe, feed: OpenPipe?) {
        self.output = output
        self.errors = errors
        self.feed = feed
        for descriptor in [output.reading, errors.reading, feed?.writing ?? -1] where descriptor >= 0 {
            _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        }
    }

    /// Exchanges data until the program has closed both outputs. Returns false if the deadline passes first.
    mutating func run(until deadline: ContinuousClock.Instant?) -> Bool {
        while output.reading >= 0 || errors.reading >= 0 {
            if feed != nil, sent == toSend.count { feed?.closeWriting() }
            // poll ignores descriptors of -1.
            var waited = [
                pollfd(fd: output.reading, events: Int16(POLLIN), revents: 0),
                pollfd(fd: errors.reading, events: Int16(POLLIN), revents: 0),
                pollfd(fd: feed?.writing ?? -1, events: Int16(POLLOUT), revents: 0),
            ]
            let answer = poll(&waited, 3, ChildProcess.milliseconds(until: deadline))
            if answer == 0 { return false }
            if answer < 0 { continue }  // EINTR: poll has no other error for these
            if waited[0].revents != 0 { Self.listen(output, &said, &scratch) }
            if waited[1].revents != 0 { Self.listen(errors, &complained, &scratch) }
            if waited[2].revents != 0 { send() }
            if let deadline, ContinuousClock.now >= deadline { return false }
        }
        return true
    }

    /// Reads what a killed program left in its pipes.
    mutating func takeWhatIsThere() {
        Self.listen(output, &said, &scratch)
        Self.listen(errors, &complained, &scratch)
    }

    private static func listen(_ pipe: OpenPipe, _ heard: inout Data, _ scratch: inout [UInt8]) {
        while pipe.reading >= 0 {
            let count = read(pipe.reading, &scratch, scratch.count)
            if count > 0 {
                scratch.withUnsafeBytes { heard.append(contentsOf: $0.prefix(count)) }
                if count < scratch.count { return }
            } else if count == 0 {
                pipe.closeReading()
            } else if errno != EINTR {
                return
            }
        }
    }

    private mutating func send() {
        guard let feed else { return }
        let count = withoutPipeSignal {
            toSend.withUnsafeBytes { write(feed.writing, $0.baseAddress.map { $0 + sent }, $0.count - sent) }
        }
        if count >= 0 {
            sent += count
        } else if errno != EAGAIN, errno != EINTR {
            // The program does not read the rest. Its exit status shows whether that was correct.
            feed.closeWriting()
            sent = toSend.count
        }
    }
}
