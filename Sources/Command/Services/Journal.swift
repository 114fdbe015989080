import Console
import Conversion
import Dispatch
import FoundationEssentials
import Glibc
import LocalCluster
import Synchronization

/// A log record of a service: one line on standard error.
protocol JournalRecord: Encodable, Sendable {
    var priority: LogPriority { get }
    /// For people, without the time.
    func line(_ paint: (String, Ink) -> String) -> String
}

/// Writes log records: JSON for programs, readable lines on a terminal.
///
/// `write` never waits for the reader. If the reader is too slow, the journal drops lines and logs their number.
final class Journal: Sendable {
    private let console: CommandOutput
    private let queue = DispatchQueue(label: "sluice.journal")
    private let waiting = Mutex((lines: 0, dropped: 0))
    private static let limit = 10_000
    /// The file behind standard error, if a supervisor rotates it.
    private let log: PartLog?

    init(_ console: CommandOutput, _ invocation: Invocation) {
        self.console = console
        log = PartLog(environment: invocation.environment)
    }

    func write(_ record: some JournalRecord) {
        let isTaken = waiting.withLock { waiting in
            if waiting.lines >= Self.limit {
                waiting.dropped += 1
                return false
            }
            waiting.lines += 1
            return true
        }
        guard isTaken else { return }
        let time = Date()
        queue.async { [self] in
            let dropped = waiting.withLock { waiting in
                waiting.lines -= 1
                defer { waiting.dropped = 0 }
                return waiting.dropped
            }
            if dropped > 0 { put(DroppedLines(count: dropped), time) }
            put(record, time)
        }
    }

    /// Returns when all lines are written.
    func finish() { queue.sync {} }

    private func put(_ record: some JournalRecord, _ time: Date) {
        log?.follow()
        if console.talk.isTerminal {
            console.say("\(console.talk.paint(Self.clock(time), .faint))  \(record.line(console.talk.paint))")
        } else {
            do {
                console.say(try JSONText.line(Stamped(time: time, record: record)), record.priority)
            } catch {
                console.say("{\"event\":\"unwritable\"}", .error)
            }
        }
    }

    private static func clock(_ time: Date) -> String {
        var (seconds, parts) = (time_t(time.timeIntervalSince1970), tm())
        localtime_r(&seconds, &parts)
        return [parts.tm_hour, parts.tm_min, parts.tm_sec]
            .map { ($0 < 10 ? "0" : "") + "\($0)" }.joined(separator: ":")
    }

    /// A record and its time, in one JSON object.
    private struct Stamped<Record: JournalRecord>: Encodable {
        let time: Date
        let record: Record

        private enum Keys: String, CodingKey { case time }

        private static var style: Date.ISO8601FormatStyle { .init(includingFractionalSeconds: true) }

        func encode(to encoder: any Encoder) throws {
            try record.encode(to: encoder)
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode(time.formatted(Self.style), forKey: .time)
        }
    }
}

/// Stands for lines that were dropped.
private struct DroppedLines: JournalRecord {
    var event = "dropped"
    let count: Int

    var priority: LogPriority { .warning }

    private enum CodingKeys: String, CodingKey { case event, count }

    func line(_ paint: (String, Ink) -> String) -> String {
        "\(Plural.count(count, "line")) \(Plural.past(count)) dropped because the reader of the log is too slow"
    }
}

extension String {
    /// The text on one line of bounded length, with control characters made visible.
    var bounded: String {
        let limit = 500
        let isLong = unicodeScalars.count > limit
        let text = isLong ? String(String.UnicodeScalarView(unicodeScalars.prefix(limit))) + "…" : self
        return text.printable.split(whereSeparator: \.isNewline).joined(separator: " ")
    }
}
