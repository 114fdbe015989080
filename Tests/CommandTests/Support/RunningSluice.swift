import Foundation
import TestSupport
import Testing

/// A running `sluice`: the test feeds its standard input, reads its output, and sends it signals.
///
/// As long as the test has not fed all of the input, the conversion cannot end.
final class RunningSluice {
    private let child: ChildProcess
    private let feed: OpenPipe
    private let output: OpenPipe
    private let errors: OpenPipe
    private var said = Data()
    private var complained = Data()
    private var hasEnded = false
    /// Long enough for the slowest machine; only a failing test waits this long.
    private let deadline = ContinuousClock.now + .seconds(600)

    /// Starts a program, by default `sluice`, in `folder`. With `keepsLoaded`, its process shows no arguments of its own.
    init(
        _ words: [String],
        in folder: TemporaryFolder,
        program: String = Sluice.path,
        environment more: [String: String] = [:],
        keepsLoaded: Bool = true
    ) throws {
        (feed, output, errors) = (try OpenPipe.open(), try OpenPipe.open(), try OpenPipe.open())
        child = try ChildProcess.spawn(
            program,
            words,
            environment: Sluice.environment(more),
            folder: folder.path,
            input: feed.reading,
            output: output.writing,
            errors: errors.writing,
            keepsLoaded: keepsLoaded && program == Sluice.path
        )
        feed.closeReading()
        output.closeWriting()
        errors.closeWriting()
        for pipe in [output, errors] { _ = fcntl(pipe.reading, F_SETFL, fcntl(pipe.reading, F_GETFL) | O_NONBLOCK) }
        _ = fcntl(feed.writing, F_SETFL, fcntl(feed.writing, F_GETFL) | O_NONBLOCK)
    }

    deinit { if !hasEnded { child.kill() } }

    var id: pid_t { child.id }
    /// Standard output so far.
    var outputText: String { String(decoding: said, as: UTF8.self) }
    /// Standard error so far.
    var errorText: String { String(decoding: complained, as: UTF8.self) }

    /// Closes the reading end of its standard output.
    func hangUp() { output.closeReading() }

    /// Feeds `bytes` as fast as it reads them, and stops if it closes its input.
    func feed(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = withoutPipeSignal {
                bytes.withUnsafeBytes { write(feed.writing, $0.baseAddress! + sent, $0.count - sent) }
            }
            if count < 0, errno == EPIPE { return }
            if count > 0 { sent += count } else { try wait(for: "taking what it is fed", feeding: true) }
        }
    }

    /// Closes its standard input.
    func endFeed() { feed.closeWriting() }

    /// Waits until standard error contains `text`.
    func waitForTalk(_ text: String) throws {
        while !errorText.contains(text) { try wait(for: "saying \"\(text)\"") }
    }

    /// Waits until standard output contains `text`.
    func waitForOutput(_ text: String) throws {
        while !outputText.contains(text) { try wait(for: "printing \"\(text)\"") }
    }

    /// Polls until `condition` holds, every 10 ms: it concerns the process's threads, files or time, of which /proc
    /// sends no events.
    func wait(until condition: () -> Bool, for what: String) throws {
        while !condition() { try wait(for: what, until: .now + .milliseconds(10)) }
    }

    /// Sends a signal to the process, or to its whole group.
    func signal(_ number: Int32, wholeGroup: Bool = false) { kill(wholeGroup ? -child.id : child.id, number) }

    /// Waits for the end, which must be this one. The failure tells what the process said.
    func ends(with expected: Run.Status, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let status = try end()
        #expect(status == expected, "it said: \(errorText.suffix(4_000))", sourceLocation: sourceLocation)
    }

    /// Waits for the end, reads the rest of the output, and returns the status.
    func end() throws -> Run.Status {
        while output.reading >= 0 || errors.reading >= 0 { try wait(for: "ending") }
        guard let status = child.wait(until: deadline) else { throw SupportError("wait for its end", errorText) }
        hasEnded = true
        return status
    }

    /// Waits until there is output, or room in the pipe that is being fed, or until `moment`. Reads the output.
    private func wait(
        for what: String,
        feeding: Bool = false,
        until moment: ContinuousClock.Instant? = nil
    ) throws {
        let isOver = output.reading < 0 && errors.reading < 0 && !feeding && moment == nil
        guard ContinuousClock.now < deadline, !isOver else { throw SupportError("wait for \(what)", errorText) }
        var waited = [
            pollfd(fd: output.reading, events: Int16(POLLIN), revents: 0),
            pollfd(fd: errors.reading, events: Int16(POLLIN), revents: 0),
            pollfd(fd: feeding ? feed.writing : -1, events: Int16(POLLOUT), revents: 0),
        ]
        poll(&waited, 3, ChildProcess.milliseconds(until: min(moment ?? deadline, deadline)))
        Self.take(output, &said)
        Self.take(errors, &complained)
    }

    private static func take(_ pipe: OpenPipe, _ heard: inout Data) {
        var scratch = [UInt8](repeating: 0, count: 1 << 16)
        while pipe.reading >= 0 {
            let count = read(pipe.reading, &scratch, scratch.count)
            if count > 0 {
                heard.append(contentsOf: scratch.prefix(count))
            } else if count == 0 {
                pipe.closeReading()
            } else {
                return
            }
        }
    }
}

/// A minute of computed sound, in two halves.
struct HalvedWAV {
    let first: [UInt8]
    let second: [UInt8]
    static let frames = 480_000

    init() throws {
        let tone = Signal.sweep(rate: 8000, frames: Self.frames).pcm(.s16)
        let bytes = try WAVFile.bytes(tone)
        (first, second) = (Array(bytes[..<(bytes.count / 2)]), Array(bytes[(bytes.count / 2)...]))
    }

    /// Starts a conversion, waits until it runs, and leaves it waiting for `second`.
    func begin(_ words: [String], in folder: TemporaryFolder) throws -> RunningSluice {
        let running = try RunningSluice(["convert", "-"] + words + ["--progress", "json"], in: folder)
        try running.feed(first)
        try running.waitForTalk("\"state\":\"running\"")
        return running
    }
}
