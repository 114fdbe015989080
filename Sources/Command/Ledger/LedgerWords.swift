import Console
import Conversion
import Dispatch
import Ledger
import LocalCluster
import Records
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
    /// Contexts of the configuration; this asks no ledger.
    case contexts

    /// How long the Tab key may block. After that, nothing is offered.
    private static let patience = DispatchTimeInterval.milliseconds(900)
    /// Only the newest are offered; the user types the number of an older one.
    private static let most: Int32 = 200

    /// The candidates that begin with `typed`, newest first. Empty if the ledger does not answer in time; starts no
    /// cluster.
    func candidates(typed: String, words: [String], environment: [String: String]) -> [Completion.Candidate] {
        if self == .contexts { return Self.namedLedgers(environment).filter { $0.word.hasPrefix(typed) } }
        // A failed completion must print nothing: the shell would put the text into the user's line.
        guard let ledger = try? Self.ledger(words, environment) else { return [] }
        let (answer, done) = (Answer(), DispatchSemaphore(value: 0))
        Task {
            // As above: an error cannot be shown here.
            if let found = try? await look(ledger) { answer.box.withLock { $0 = found } }
            done.signal()
        }
        // On a timeout the task is left running; the process ends soon after.
        guard done.wait(timeout: .now() + Self.patience) == .success else { return [] }
        return answer.box.withLock { $0 }.filter { $0.word.hasPrefix(typed) }
    }

    private final class Answer: Sendable {
        let box = Mutex<[Completion.Candidate]>([])
    }

    /// Resolves the ledger as `LedgerOptions` does, but starts no private cluster: `nil` if that cluster is not
    /// running.
    private static func ledger(_ words: [String], _ environment: [String: String]) throws -> (any CommandLedger)? {
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
            contexts: ContextMemory(environment: environment)
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
            if let coordinator { return remote(coordinator) }
            configuration = try context.configuration(environment)
        case .variables: configuration = try LedgerConfiguration(environment: environment)
        case .coordinator(let url, _):
            let coordinator = try LedgerOptions.coordinator(
                url,
                tokenFile: said(LedgerOptions.tokenFile.form),
                isInsecure: words.contains(LedgerOptions.insecure.form.word),
                environment
            )
            return remote(coordinator)
        case .cluster:
            let cluster = try PrivateCluster(environment: environment)
            guard cluster.runningState() != nil else { return nil }
            configuration = try LocalPostgres.configuration(cluster.place)
        }
        let schema = said(LedgerOptions.schema.form)
        let named = try schema.map { try SchemaName($0.text) }
        configuration.schema = LedgerOptions.schemaInUse(at: place, named, schema?.origin).name
        (configuration.reachTimeout, configuration.connectTimeout) = (.milliseconds(500), .milliseconds(500))
        configuration.operationTimeout = .milliseconds(500)
        return try JobLedger(configuration)
    }

    private static func remote(_ place: CoordinatorPlace) -> RemoteLedger {
        var place = place
        (place.reachTimeout, place.answerTimeout) = (.zero, .milliseconds(500))
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
            return try await ledger.changeRecords(before: nil, limit: Self.most)
                .map { .init(word: "\($0.number)", summary: "\($0.change) \($0.phase.rawValue)".printable) }
        case .notifiable:
            return try await ledger.webhookRecords().filter(\.mayBeNamed)
                .map { .init(word: $0.name ?? "\($0.id)", summary: $0.url.printable) }.filter(\.isPlainWord)
        case .webhooks:
            return try await ledger.webhookRecords().map { .init(word: "\($0.id)", summary: $0.url.printable) }
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
