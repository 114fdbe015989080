import Foundation
import TestSupport

/// A transaction that has read and stays open, as a forgotten session or a long backup does.
final class HeldTransaction {
    private let child: ChildProcess
    private let words: OpenPipe
    private let answers: OpenPipe

    /// Begins a transaction in the database of `bench`, and returns when it holds its snapshot.
    static func begin(in bench: BenchLedger) throws -> HeldTransaction {
        try HeldTransaction(bench.server.url(database: bench.database))
    }

    private init(_ url: String) throws {
        (words, answers) = (try OpenPipe.open(), try OpenPipe.open())
        child = try ChildProcess.spawn(
            try PrivatePostgres.program("psql"),
            ["-XAtq", "-v", "ON_ERROR_STOP=1", "-d", url],
            environment: nil,
            folder: nil,
            input: words.reading,
            output: answers.writing,
            errors: answers.writing
        )
        words.closeReading()
        answers.closeWriting()
        try say("begin isolation level repeatable read; select 'held ' || count(*) from sluice.lane;")
        guard try hear().hasPrefix("held ") else { throw SupportError("hold a transaction", try hear()) }
    }

    /// Ends the transaction; throws if it had already ended.
    func end() throws {
        try say("commit; select 'ended';")
        guard try hear().hasPrefix("ended") else { throw SupportError("end a held transaction", try hear()) }
        words.closeWriting()
        _ = child.wait(until: .now + .seconds(30))
    }

    private func say(_ sql: String) throws {
        let line = Array((sql + "\n").utf8)
        guard write(words.writing, line, line.count) == line.count else { throw SupportError("write", errno: errno) }
    }

    private func hear() throws -> String {
        var buffer = [UInt8](repeating: 0, count: 1_024)
        let count = read(answers.reading, &buffer, buffer.count)
        guard count >= 0 else { throw SupportError("read", errno: errno) }
        return String(decoding: buffer.prefix(count), as: UTF8.self)
    }
}
