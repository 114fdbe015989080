import Console
import Conversion
import Coordinator
import Face
import Ledger
import Records
import Storage
import Synchronization

/// `sluice coordinator`: does the ledger's housekeeping until a signal stops it.
enum CoordinatorCommand {
    static let value = Subcommand(
        name: "coordinator",
        summary: "run the ledger's housekeeping until stopped",
        discussion: [
            "A coordinator detects lost workers and puts their jobs back into the queue, releases delayed jobs "
                + "when they are due, maintains the counts, and finishes outputs that a worker left half-published, "
                + "if it has their roots. You can run several. Without a coordinator, the workers run the "
                + "housekeeping.",
            "With --listen it serves the HTTP API, which needs tokens: \"sluice tokens create\" makes them. With --uploads "
                + "and --downloads programs send sources and get outputs by it, and need no share.",
            "It sends what is due to webhooks, to addresses of the public internet only. --webhooks-to permits others. "
                + "Its login needs the role sluice_face for that.",
            "It reads the same --config file as the worker. Ctrl-C or SIGTERM stops it.",
        ],
        options: [ServiceOptions.root.form] + FaceOptions.forms + [WebhookOptions.alsoTo.form]
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
        let invocation = try ServiceFile.completing(invocation)
        let report = ServiceReport(invocation.environment)
        let journal = Journal(console, invocation)
        do {
            let places = try LedgerOptions.roots(invocation)
            let tell: @Sendable (CoordinatorEvent) -> Void = { event in
                journal.write(CoordinatorLine(event))
                report?.note(event)
            }
            let roots = try ServiceOptions.open(places) { tell(.trouble($0)) }
            let keeper = try HouseKeeper(
                LedgerOptions.configuration(invocation),
                roots: { roots.opened },
                webhooks: WebhookOptions.sender(invocation, tell),
                tell: tell,
                pulse: { report?.beat() }
            )
            let face = try FaceOptions.open(invocation, places) { tell(.trouble($0)) }
            if let face { tell(.listens(at: face.addresses)) }
            let task = Mutex<Task<(any Error)?, Never>?>(nil)
            let isStopped = Mutex(false)
            let problem = ForegroundWork.serve(
                onSignal: { _ in
                    isStopped.withLock { $0 = true }
                    task.withLock { $0?.cancel() }
                },
                { () async -> (any Error)? in
                    let work = Task { () async -> (any Error)? in
                        do {
                            try await keeper.run()
                            return nil
                        } catch {
                            return error
                        }
                    }
                    task.withLock { $0 = work }
                    if isStopped.withLock({ $0 }) { work.cancel() }
                    let end = await work.value
                    await face?.stop()
                    return end
                }
            )
            journal.finish()
            if let problem, !isStopped.withLock({ $0 }) { throw problem }
            return .success
        } catch {
            return try ServiceOptions.show(error, on: console)
        }
    }
}
