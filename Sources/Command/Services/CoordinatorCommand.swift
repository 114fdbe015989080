import Console
import Synchronization
import System

/// `sluice coordinator`: does the ledger's housekeeping until a signal stops it.
enum CoordinatorCommand {
    static let value: Subcommand = Subcommand(
        name: "coordinator",
        summary: "run the ledger's housekeeping until stopped",
        discussion: [
            "A coordinator detects lost workers and puts their jobs back into the queue, queues delayed jobs "
                + "when they are due, maintains the counts, and finishes outputs that a worker left half-published, "
                + "if it has their roots. You can run several. Without a coordinator, the workers run the "
                + "housekeeping.",
            "With --listen it serves the HTTP API, which needs tokens: \"sluice tokens create\" makes them. With --uploads "
                + "and --downloads programs send sources and get outputs by it, and need no share. With --excerpts "
                + "people hear sources and outputs on its page.",
            "It sends what is due to webhooks, to addresses of the public internet only. --webhooks-to permits others. "
                + "Its login needs the role sluice_face for that.",
            "It reads the same --config file as the worker. Ctrl-C or SIGTERM stops it.",
        ],
        options: [ServiceOptions.root.form] + APIOptions.forms + [WebhookOptions.alsoTo.form]
            + [ServiceFile.option.form] + LedgerOptions.databaseForms,
        examples: [
            Example(
                line: "sluice coordinator --root out=/mnt/archive",
                purpose: "with a root, to finish its outputs"
            ),
            Example(line: "sluice coordinator --listen 8080", purpose: "with the HTTP API for this machine"),
            Example(
                line: "sluice coordinator --listen 8080 --root in=/srv/in --uploads in",
                purpose: "programs send sources"
            ),
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        ResourceLimit.forbidCoreDumps()
        // The coordinator answers requests before `serve` listens for signals. A signal in between must wait for it.
        return try SignalHold.during {
            let whole = try ServiceFile.completing(invocation)
            ServiceOptions.closeFilesOfCaller(invocation.environment)
            return try serve(whole, console)
        }
    }

    private static func serve(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        do {
            let service = try CoordinatorService(invocation, console)
            let work = Mutex<Task<Void, any Error>?>(nil)
            let isStopped = Mutex(false)
            let result = ForegroundWork.serve(
                onSignal: { _ in
                    isStopped.withLock { $0 = true }
                    work.withLock { $0?.cancel() }
                },
                { () async -> Result<Void, any Error> in
                    let task = Task { try await service.run() }
                    work.withLock { $0 = task }
                    if isStopped.withLock({ $0 }) { task.cancel() }
                    return await task.result
                }
            )
            if !isStopped.withLock({ $0 }) { try result.get() }
            return .success
        } catch {
            return try ServiceOptions.show(error, on: console)
        }
    }
}
