import Foundation
import Synchronization

/// A psql that stays connected to one database, for tests that ask it again and again: a new session costs the server
/// more than most questions.
///
/// Its messages are lost, except errors. After an error it is over, as psql is with ON_ERROR_STOP.
final class PsqlSession: Sendable {
    private let child: ChildProcess
    private let feed: OpenPipe
    private let output: OpenPipe
    private let errors: OpenPipe
    /// One text, then its answer.
    private let turn = Mutex(())

    /// Connects to the database at `url`. That a server is not there shows at the first text.
    init(_ url: String) throws {
        (feed, output, errors) = (try OpenPipe.open(), try OpenPipe.open(), try OpenPipe.open())
        var environment = ProcessInfo.processInfo.environment
        environment["PGOPTIONS"] = "--client-min-messages=error"
        child = try ChildProcess.spawn(
            PrivatePostgres.program("psql"),
            ["-XAtq", "-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=terse", "-d", url],
            environment: environment,
            folder: nil,
            input: feed.reading,
            output: output.writing,
            errors: errors.writing,
            keepsLoaded: true
        )
        feed.closeReading()
        output.closeWriting()
        errors.closeWriting()
    }

    deinit { end() }

    /// Ends the session. A text that is running is cut off.
    func end() {
        feed.closeWriting()
        child.kill()
    }

    /// The rows of a text, one per line, columns separated by `|`.
    func run(_ sql: String, within limit: Duration) throws -> String {
        try turn.withLock { _ in
            let request = Array("\(sql)\n;\n\\echo \(Self.mark)\n".utf8)
            var sent = 0
            while sent < request.count {
                let count = withoutPipeSignal {
                    request.withUnsafeBytes { write(feed.writing, $0.baseAddress! + sent, $0.count - sent) }
                }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { throw failure(of: sql) }
                sent += count
            }
            let answer = try answer(to: sql, until: .now + limit)
            return String(decoding: answer, as: UTF8.self).trimmingCharacters(in: .newlines)
        }
    }

    /// Ends each answer. No row of a test has this text.
    private static let mark = "-- that is all --"

    private func answer(to sql: String, until deadline: ContinuousClock.Instant) throws -> [UInt8] {
        let end = Array("\(Self.mark)\n".utf8)
        var heard: [UInt8] = []
        var scratch = [UInt8](repeating: 0, count: 1 << 16)
        while heard.suffix(end.count) != end[...] {
            var waited = pollfd(fd: output.reading, events: Int16(POLLIN), revents: 0)
            let isReady = poll(&waited, 1, ChildProcess.milliseconds(until: deadline))
            guard isReady != 0 else { throw SupportError("run \(sql)", "no answer in time") }
            let count = read(output.reading, &scratch, scratch.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure(of: sql) }
            heard += scratch.prefix(count)
        }
        return heard.dropLast(end.count)
    }

    /// The error for which psql has ended.
    private func failure(of sql: String) -> SupportError {
        var text: [UInt8] = []
        var scratch = [UInt8](repeating: 0, count: 1 << 12)
        while true {
            let count = read(errors.reading, &scratch, scratch.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            text += scratch.prefix(count)
        }
        return SupportError("run \(sql)", String(decoding: text.suffix(2_000), as: UTF8.self))
    }
}
