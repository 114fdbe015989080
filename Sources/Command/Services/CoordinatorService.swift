import API
import Console
import Conversion
import Coordinator
import Storage

/// A coordinator in this process: its housekeeping, its webhooks and its HTTP API. It handles no signals.
package final class CoordinatorService: Sendable {
    private let keeper: HouseKeeper
    private let api: APIServer?
    private let journal: Journal

    /// Opens what the options name, and listens. Nothing else happens until `run`.
    init(_ invocation: Invocation, _ console: CommandOutput) throws {
        let report = ServiceReport(invocation.environment)
        let journal = Journal(console, invocation)
        let places = try LedgerOptions.roots(invocation)
        let onEvent: @Sendable (CoordinatorEvent) -> Void = { event in
            journal.write(CoordinatorLine(event))
            report?.note(event)
        }
        let roots = try ServiceOptions.open(places) { onEvent(.trouble($0)) }
        keeper = try HouseKeeper(
            LedgerOptions.configuration(invocation),
            roots: { roots.opened },
            webhooks: WebhookOptions.sender(invocation, onEvent),
            onEvent: onEvent,
            pulse: { report?.beat() },
            longestRest: report?.pulse ?? .seconds(10)
        )
        api = try APIOptions.open(invocation, places) { onEvent(.trouble($0)) }
        if let api { onEvent(.listens(at: api.addresses)) }
        self.journal = journal
    }

    /// Reads the words after `sluice`, which must name the coordinator. The log goes to a descriptor, which stays the
    /// caller's.
    package static func open(
        _ words: [String],
        environment: [String: String],
        log: Int32
    ) throws -> CoordinatorService {
        guard case .run(_, let invocation) = try WordReader(root: Catalogue.root, environment: environment).read(words),
            invocation.path == ["coordinator"]
        else { throw UsageError("these words do not run a coordinator") }
        let output = CommandOutput(data: log, talk: log, environment: environment)
        return try CoordinatorService(ServiceFile.completing(invocation), output)
    }

    /// Where it serves HTTP; empty if it does not.
    package var addresses: [String] { api?.addresses ?? [] }

    /// Works until the task is cancelled, then answers what was asked and writes the rest of the log. Throws what ended it
    /// otherwise.
    package func run() async throws {
        let result: Result<Void, any Error>
        do {
            try await keeper.run()
            result = .success(())
        } catch {
            result = .failure(error)
        }
        // A separate task, which is not cancelled: the API writes to the ledger what it remembers.
        await Task { await api?.stop() }.value
        journal.finish()
        try result.get()
    }
}
