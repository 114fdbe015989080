import Coordinator
import Ledger
import Synchronization

/// `sluice coordinator`: does the ledger's housekeeping until a signal stops it.
enum CoordinatorCommand {
    static let value = Subcommand(
        name: "coordinator",
        summary: "keep house for the ledger, until told to stop",
        discussion: [
            "It finds workers that are gone and puts their jobs back in line, wakes jobs whose time has come, folds the counts, "
                + "and finishes outputs that a worker left half published, if it has the roots. Any number may run; conversions go on "
                + "without any, since workers keep house when no coordinator does.",
            "Ctrl-C or SIGTERM ends it.",
        ],
        options: [ServiceOptions.root.form] + LedgerOptions.forms,
        examples: [Example(line: "sluice coordinator --root out=/mnt/archive", purpose: "keep house")],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: Console) throws -> ExitCode {
        let journal = Journal(console, invocation)
        do {
            let roots = try ServiceOptions.open(LedgerOptions.roots(invocation))
            let keeper = try HouseKeeper(LedgerOptions.configuration(invocation), roots: roots) { event in
                journal.write(CoordinatorLine(event))
            }
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
                    return await work.value
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
