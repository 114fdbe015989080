import Conversion
import Dispatch
import Ledger
import Synchronization

/// What only the ledger knows and a shell may offer: numbers of jobs and batches, names of queues and workers.
enum LedgerWords: Sendable, Hashable {
    /// In one of these states; in any, where there are none.
    case jobs([JobState])
    case batches
    case queues
    case workers

    /// Somebody waits with a finger on the tab key: after this nothing is offered.
    private static let patience = DispatchTimeInterval.milliseconds(900)
    /// The newest of them; whoever wants an older one knows its number.
    private static let most: Int32 = 200

    /// Those that begin with what was typed, the newest first. None if the ledger does not answer at once; never starts one.
    func candidates(typed: String, words: [String], environment: [String: String]) -> [Completion.Candidate] {
        // A completion that fails has nobody to tell: a shell would put its words into the line.
        guard let configuration = try? Self.configuration(words, environment) else { return [] }
        let (answer, done) = (Answer(), DispatchSemaphore(value: 0))
        Task {
            // As above: what went wrong has nobody to go to.
            if let found = try? await look(configuration) { answer.box.withLock { $0 = found } }
            done.signal()
        }
        // The process ends soon after, and what still waits with it.
        guard done.wait(timeout: .now() + Self.patience) == .success else { return [] }
        return answer.box.withLock { $0 }.filter { $0.word.hasPrefix(typed) }
    }

    private final class Answer: Sendable {
        let box = Mutex<[Completion.Candidate]>([])
    }

    /// As `LedgerOptions` has it, but that a private cluster which does not run is left alone.
    private static func configuration(
        _ words: [String],
        _ environment: [String: String]
    ) throws -> LedgerConfiguration? {
        func said(_ option: OptionForm) -> String? {
            let begin = option.word + "="
            if let joined = words.last(where: { $0.hasPrefix(begin) }) { return String(joined.dropFirst(begin.count)) }
            let place = words.dropLast().lastIndex(of: option.word)
            return place.map { words[$0 + 1] }
                ?? option.environment.flatMap { environment[$0] }.flatMap { $0.isEmpty ? nil : $0 }
        }
        let url = said(LedgerOptions.database.form) ?? environment["DATABASE_URL"]
        var configuration: LedgerConfiguration
        if url != nil || LedgerOptions.namesDatabase(environment) {
            configuration = try LedgerConfiguration(url: url, environment: environment)
        } else {
            let cluster = try LocalCluster(environment: environment)
            guard cluster.runningState() != nil else { return nil }
            configuration = try LocalPostgres.configuration(cluster.place)
        }
        if let schema = said(LedgerOptions.schema.form) { configuration.schema = try SchemaName(schema) }
        (configuration.reachTimeout, configuration.connectTimeout) = (.milliseconds(500), .milliseconds(500))
        configuration.operationTimeout = .milliseconds(500)
        return configuration
    }

    private func look(_ configuration: LedgerConfiguration) async throws -> [Completion.Candidate] {
        let ledger = try JobLedger(configuration)
        switch self {
        case .jobs(let states):
            let filter = JobFilter(states: states.isEmpty ? nil : states)
            return try await ledger.jobs(matching: filter, limit: Self.most).jobs.map {
                .init(word: "\($0.job)", summary: "\($0.state.rawValue) \($0.source)".printable)
            }
        case .batches:
            return try await ledger.batches(limit: Self.most).map {
                .init(word: "\($0.batch)", summary: "\($0.name ?? $0.queue), \($0.jobs.words)".printable)
            }
        case .queues:
            return try await ledger.queues().map { .init(word: $0.name, summary: $0.jobs.words) }.filter(\.isPlainWord)
        case .workers:
            return try await ledger.workers()
                .map { .init(word: $0.name, summary: "\($0.host)".printable) }.filter(\.isPlainWord)
        }
    }
}

extension Completion.Candidate {
    /// Whether a shell takes the word for nothing but a word. bash puts it into the line as it is, and a worker gives itself
    /// its name: `$(...)` would be run by whoever pressed Tab and Enter.
    fileprivate var isPlainWord: Bool { ShellWord.isPlain(word) && word.first != "-" }
}
