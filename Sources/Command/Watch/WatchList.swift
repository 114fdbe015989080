import API
import Console
import Ledger

/// The lists that the middle of the screen can show.
enum WatchList: Int, Sendable, CaseIterable {
    case running = 1, waiting, failed, ended, queues, workers

    var title: String {
        switch self {
        case .running: "running"
        case .waiting: "waiting"
        case .failed: "failed"
        case .ended: "ended"
        case .queues: "queues"
        case .workers: "workers"
        }
    }

    /// The states of its jobs; empty for a list of queues or workers.
    var states: [JobState] {
        switch self {
        case .running: [.running, .publishing]
        case .waiting: [.delayed, .waiting]
        case .failed: [.failed]
        case .ended: [.completed, .skipped, .failed, .accepted, .cancelled]
        case .queues, .workers: []
        }
    }

    var isOfJobs: Bool { !states.isEmpty }
}

/// Restricts the list. Users type it as words: `batch=17 queue=nightly code=truncated pods:2024/`.
struct WatchFilter: Sendable, Hashable {
    var batch: Int64?
    var queue: String?
    var code: String?
    /// The beginning of the source, or of the name of a queue or worker.
    var beginning: String?

    init(batch: Int64? = nil, queue: String? = nil) { (self.batch, self.queue) = (batch, queue) }

    /// Throws for an invalid word.
    init(words: String) throws(Misfit) {
        // Split by scalars: a combining mark after a space or a sign does not hide it.
        for piece in words.unicodeScalars.split(separator: " ") {
            let word = String(piece)
            let parts = piece.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { String($0) }
            switch (parts[0], parts.count == 2 ? parts[1] : nil) {
            case ("batch", let number?): batch = try ValueType<Int64>.id.read(number)
            case ("queue", let name?): queue = name
            case ("code", let name?): code = name
            case ("source", let start?): beginning = start.isEmpty ? nil : start
            default:
                // A name with spaces is one text.
                beginning = beginning.map { "\($0) \(word)" } ?? word
            }
        }
    }

    /// The words that parse as this filter.
    var words: String {
        [batch.map { "batch=\($0)" }, queue.map { "queue=\($0)" }, code.map { "code=\($0)" }, beginningWords]
            .compactMap { $0 }.joined(separator: " ")
    }

    /// With its keyword if it would otherwise parse as another one.
    private var beginningWords: String? {
        beginning.map { $0.unicodeScalars.prefix { $0 != " " }.contains("=") ? "source=\($0)" : $0 }
    }

    var isEmpty: Bool { self == WatchFilter() }

    /// The filter for the ledger. Running jobs are few, so `allows` filters them by source here, where they are
    /// sorted.
    func jobs(in list: WatchList) -> JobFilter {
        JobFilter(
            states: list.states,
            batch: batch,
            queue: queue,
            codes: code.map { [$0] },
            sourcePrefix: list == .running ? nil : beginning
        )
    }

    /// The filter for a change, which affects exactly the jobs that are listed.
    func change(in list: WatchList) -> JobFilter {
        var filter = jobs(in: list)
        filter.sourcePrefix = beginning
        return filter
    }

    func allows(_ name: String) -> Bool { beginning.map { name.hasPrefix($0) } ?? true }
}
