import Foundation
import TestSupport

/// A `sluice` that is at work: fed through its standard input, listened to, and sent signals.
///
/// It converts what the test feeds it, so that a test that has not fed everything holds it in the middle.
final class RunningSluice {
    private let child: ChildProcess
    private let feed: OpenPipe
    private let output: OpenPipe
    private let errors: OpenPipe
    private var said = Data()
    private var complained = Data()
    private var hasEnded = false
    /// Long enough for the slowest machine; only a test that fails waits so long.
    private let deadline = ContinuousClock.now + .seconds(200)

    /// Starts a program, by default `sluice`, in `folder`.
    init(
        _ words: [String],
        in folder: TemporaryFolder,
        program: String = Sluice.path,
        environment more: [String: String] = [:]
    ) throws {
        (feed, output, errors) = (try OpenPipe.open(), try OpenPipe.open(), try OpenPipe.open())
        child = try ChildProcess.spawn(
            program,
            words,
            environment: Sluice.environment(more),
            folder: folder.path,
            input: feed.reading,
            output: output.writing,
            errors: errors.writing
        )
        feed.closeReading()
        output.closeWriting()
        errors.closeWriting()
        for pipe in [output, errors] { _ = fcntl(pipe.reading, F_SETFL, fcntl(pipe.reading, F_GETFL) | O_NONBLOCK) }
        _ = fcntl(feed.writing, F_SETFL, fcntl(feed.writing, F_GETFL) | O_NONBLOCK)
    }

    deinit { if !hasEnded { child.kill() } }

    var id: pid_t { child.id }
    /// What it wrote to standard output so far.
    var outputText: String { String(decoding: said, as: UTF8.self) }
    /// What it wrote to standard error so far.
    var errorText: String { String(decoding: complained, as: UTF8.self) }

    /// Nobody reads its standard output any more.
    func hangUp() { output.closeReading() }

    /// Hands it `bytes`, as fast as it takes them, or as many as it wants.
    func feed(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = withoutPipeSignal {
                bytes.withUnsafeBytes { write(feed.writing, $0.baseAddress! + sent, $0.count - sent) }
            }
            if count < 0, errno == EPIPE { return }
            if count > 0 { sent += count } else { try wait(for: "taking what it is fed") }
        }
    }

    /// There is no more to come.
    func endFeed() { feed.closeWriting() }

    /// Waits until standard error holds `text`.
    func waitForTalk(_ text: String) throws {
        while !errorText.contains(text) { try wait(for: "saying \"\(text)\"") }
    }

    /// Waits until standard output holds `text`.
    func waitForOutput(_ text: String) throws {
        while !outputText.contains(text) { try wait(for: "printing \"\(text)\"") }
    }

    /// Waits until `condition` holds, looking again and again.
    func wait(until condition: () -> Bool, for what: String) throws {
        while !condition() { try wait(for: what) }
    }

    /// Sends a signal to it, or to it and all that it started.
    func signal(_ number: Int32, wholeGroup: Bool = false) { kill(wholeGroup ? -child.id : child.id, number) }

    /// How it ended, with all that it said.
    func end() throws -> Run.Status {
        while output.reading >= 0 || errors.reading >= 0 { try wait(for: "ending") }
        guard let status = child.wait(until: deadline) else { throw SupportError("wait for its end", errorText) }
        hasEnded = true
        return status
    }

    /// Takes what it says, and passes a little time if it says nothing.
    private func wait(for what: String) throws {
        guard ContinuousClock.now < deadline else { throw SupportError("wait for \(what)", errorText) }
        var waited = [
            pollfd(fd: output.reading, events: Int16(POLLIN), revents: 0),
            pollfd(fd: errors.reading, events: Int16(POLLIN), revents: 0),
        ]
        poll(&waited, 2, 10)
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

/// A minute of computed sound that is fed in two halves.
struct HalvedWAV {
    let first: [UInt8]
    let second: [UInt8]
    static let frames = 480_000

    init() throws {
        let tone = Signal.sweep(rate: 8000, frames: Self.frames).pcm(.s16)
        let bytes = try WAVFile.bytes(tone)
        (first, second) = (Array(bytes[..<(bytes.count / 2)]), Array(bytes[(bytes.count / 2)...]))
    }

    /// A conversion of it that has begun and cannot end before `second` is fed.
    func begin(_ words: [String], in folder: TemporaryFolder) throws -> RunningSluice {
        let running = try RunningSluice(["convert", "-"] + words + ["--progress", "json"], in: folder)
        try running.feed(first)
        try running.waitForTalk("\"state\":\"running\"")
        return running
    }
}
