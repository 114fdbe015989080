import API
import Console
import Conversion
import Dispatch
import Ledger
import LedgerClient
import LocalCluster
import Synchronization

/// Completions that have to be looked up: numbers of jobs and batches and names of queues and workers in the
/// ledger, and the contexts in the user's configuration.
enum LedgerWords: CandidateSource, Hashable {
    /// Jobs in one of these states, or in any state if the list is empty.
    case jobs([JobState])
    case batches
    case queues
    case workers
    /// Valid tokens, webhooks, and those that a submission may name.
    case tokens, webhooks, notifiable
    case changes
    /// Presets of the ledger.
    case presets
    /// Contexts of the configuration; this asks no ledger.
    case contexts

    /// How long the Tab key may block. After that, nothing is offered.
    private static let patience = DispatchTimeInterval.milliseconds(900)
    /// How long the ledger may take to answer, so that the command ends within its patience.
    private static let answerTimeout = Duration.milliseconds(500)
    /// Only the newest are offered; the user types the number of an older one.
    private static let most: Int32 = 200

    /// The candidates that begin with `typed`, newest first. Empty if the ledger does not answer in time; starts no
    /// cluster.
    func candidates(typed: String, words: [String], environment: [String: String]) -> [Completion.Candidate] {
        let (answer, done) = (Answer(), DispatchSemaphore(value: 0))
        Task {
            // `try?`: a failed completion must print nothing, because the shell would put the text into the user's line.
            let found = try? await found(typed: typed, words: words, environment, within: Self.answerTimeout)
            answer.box.withLock { $0 = found ?? [] }
            done.signal()
        }
        // On a timeout the task is left running; the process ends soon after.
        guard done.wait(timeout: .now() + Self.patience) == .success else { return [] }
        return answer.box.withLock { $0 }
    }

    /// The same for a caller that can wait `timeout` for the ledger and be told of a failure.
    func found(typed: String, words: [String], _ environment: [String: String], within timeout: Duration) async throws
        -> [Completion.Candidate]
    {
        let all: [Completion.Candidate]
        if self == .contexts {
            all = Self.namedLedgers(environment)
        } else if let ledger = try Self.ledger(words, environment, answerTimeout: timeout) {
            all = try await look(ledger)
        } else {
            all = []
        }
        return all.filter { $0.word.hasPrefix(typed) }
    }

    private final class Answer: Sendable {
        let box = Mutex<[Completion.Candidate]>([])
    }

    /// Resolves the ledger as `LedgerOptions` does, but starts no private cluster: `nil` if that cluster is not
    /// running.
    private static func ledger(_ words: [String], _ environment: [String: String], answerTimeout: Duration) throws
        -> (any CommandLedger)?
    {
        func said(_ option: OptionForm) -> LedgerChoice.Said? {
            let begin = option.word + "="
            if let joined = words.last(where: { $0.hasPrefix(begin) }) {
                return (String(joined.dropFirst(begin.count)), .commandLine)
            }
            if let place = words.dropLast().lastIndex(of: option.word) { return (words[place + 1], .commandLine) }
            guard let variable = option.environment, let text = environment[variable], !text.isEmpty else { return nil }
            return (text, .environment(variable: variable))
        }
        let choice = LedgerChoice(
            database: said(LedgerOptions.database.form),
            file: said(LedgerOptions.databaseFile.form),
            context: said(LedgerOptions.context.form),
            url: said(LedgerOptions.url.form),
            environment: environment,
            contexts: ContextMemory(environment: environment),
            machine: { try ServiceFile.read(environment) }
        )
        let place = try choice.place()
        var configuration: LedgerConfiguration
        switch place {
        case .url(let url, _): configuration = try LedgerConfiguration(url: url, environment: environment)
        case .context(let context, _):
            let coordinator = try LedgerOptions.coordinator(
                of: context,
                tokenFile: said(LedgerOptions.tokenFile.form),
                isInsecure: words.contains(LedgerOptions.insecure.form.word),
                environment
            )
            if let coordinator { return remote(coordinator, answerTimeout) }
            configuration = try context.configuration(environment)
        case .variables: configuration = try LedgerConfiguration(environment: environment)
        case .coordinator(let url, _):
            let coordinator = try LedgerOptions.coordinator(
                url,
                tokenFile: said(LedgerOptions.tokenFile.form),
                isInsecure: words.contains(LedgerOptions.insecure.form.word),
                environment
            )
            return remote(coordinator, answerTimeout)
        case .cluster:
            let cluster = try PrivateCluster(environment: environment)
            guard cluster.runningState() != nil else { return nil }
            configuration = try LocalPostgres.configuration(cluster.place)
        }
        let schema = said(LedgerOptions.schema.form)
        let named = try schema.map { try SchemaName($0.text) }
        configuration.schema = try LedgerOptions.schemaInUse(at: place, named, schema?.origin).name
        (configuration.reachTimeout, configuration.connectTimeout) = (answerTimeout, answerTimeout)
        configuration.operationTimeout = answerTimeout
        return try JobLedger(configuration)
    }

    private static func remote(_ place: CoordinatorPlace, _ answerTimeout: Duration) -> RemoteLedger {
        var place = place
        (place.reachTimeout, place.answerTimeout) = (.zero, answerTimeout)
        return RemoteLedger(place)
    }

    private static func namedLedgers(_ environment: [String: String]) -> [Completion.Candidate] {
        // As above: a configuration that cannot be read offers nothing.
        guard let book = try? ContextMemory(environment: environment).book() else { return [] }
        return book.contexts.map { context in
            // A context whose address cannot be shown is offered without a summary.
            .init(word: context.name, summary: (try? context.place(environment).printable) ?? "")
        }
    }

    private func look(_ ledger: any CommandLedger) async throws -> [Completion.Candidate] {
        switch self {
        case .contexts: return []
        case .jobs(let states):
            let filter = JobFilter(states: states.isEmpty ? nil : states)
            return try await ledger.jobs(matching: filter, after: nil, limit: Self.most).jobs.map {
                .init(word: "\($0.job)", summary: "\($0.state.rawValue) \($0.source)".printable)
            }
        case .batches:
            return try await ledger.batches(before: nil, limit: Self.most).map {
                .init(word: "\($0.batch)", summary: "\($0.name ?? $0.queue), \($0.jobs.words)".printable)
            }
        case .queues:
            return try await ledger.queues().map { .init(word: $0.name, summary: $0.jobs.words) }.filter(\.isPlainWord)
        case .workers:
            return try await ledger.workers(endedSince: nil)
                .map { .init(word: $0.name, summary: "\($0.host)".printable) }.filter(\.isPlainWord)
        case .tokens:
            // Only the database lists them.
            guard let ledger = ledger as? JobLedger else { return [] }
            return try await ledger.tokens(withEnded: false)
                .map { .init(word: $0.name, summary: $0.role.rawValue) }.filter(\.isPlainWord)
        case .changes:
            return try await ledger.bulkChanges(before: nil, limit: Self.most)
                .map { .init(word: "\($0.number)", summary: "\($0.change.title) \($0.phase.rawValue)") }
        case .notifiable:
            return try await ledger.webhooks().filter(\.mayBeNamed)
                .map { .init(word: $0.name ?? "\($0.id)", summary: $0.url.printable) }.filter(\.isPlainWord)
        case .presets:
            return try await ledger.presets(ofTenant: nil)
                .map { .init(word: $0.name, summary: $0.summary.printable) }.filter(\.isPlainWord)
        case .webhooks:
            return try await ledger.webhooks().map { .init(word: "\($0.id)", summary: $0.url.printable) }
        }
    }
}

extension Completion {
    static func ledger(_ words: LedgerWords) -> Completion { .lookedUp(words) }
}

extension Completion.Candidate {
    /// Whether a shell reads the word as nothing but a word. bash inserts it unquoted, and workers choose their own
    /// names: `$(...)` would run when a person pressed Tab and Enter.
    fileprivate var isPlainWord: Bool { ShellWord.isPlain(word) && word.first != "-" }
}
