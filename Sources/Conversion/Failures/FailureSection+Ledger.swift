// Failures of the database connection, ends that the ledger or a worker records without a conversion, and bugs.

extension FailureSection {
    public static let ledger = FailureSection(
        "The ledger",
        introduction: """
            Commands and workers meet these when they use the database. When the answer to a change was lost, they \
            look the change up or repeat it until its outcome is known; where time runs out first, the message says \
            that the change may have been made. Failures of class infrastructure are retried for as long as the \
            operation has time.
            """,
        [
            .ledgerBadConfiguration: .init(
                .permanent,
                [.ledger],
                "The address of the database or another setting is invalid.",
                cause: "a typing error in the URL",
                advice: "correct the setting",
                exitCode: 7
            ),
            .ledgerCannotReach: .init(
                .infrastructure,
                [.ledger],
                "No server accepted a connection in time, or the server stopped answering.",
                cause: "PostgreSQL is down, a firewall, an unplugged cable",
                advice: """
                    check that PostgreSQL runs there, that listen_addresses in its postgresql.conf admits other \
                    machines, and that no firewall is between
                    """,
                exitCode: 5
            ),
            .ledgerConnectionLost: .init(
                .infrastructure,
                [.ledger],
                "The connection ended during a statement.",
                cause: "restarts, failovers, networks",
                exitCode: 5
            ),
            .ledgerTimedOut: .init(
                .infrastructure,
                [.ledger],
                "The operation did not finish within its time.",
                cause: "a database under load",
                advice: "try again; check the load of the database if it happens often",
                exitCode: 5
            ),
            .ledgerPermissionDenied: .init(
                .permanent,
                [.ledger],
                "The server does not know the user, or the user may not do this.",
                cause: "another role than the one that is needed",
                advice: """
                    grant the user the role that it lacks: sluice_worker, sluice_viewer, sluice_submitter, \
                    sluice_operator, or sluice_face for a coordinator that serves an API
                    """,
                exitCode: 6
            ),
            .ledgerMissing: .init(
                .permanent,
                [.ledger],
                "The database does not exist, or it holds no ledger.",
                cause: "a first start",
                advice: "run `sluice migrate`",
                exitCode: 7
            ),
            .ledgerSchemaTooOld: .init(
                .permanent,
                [.ledger],
                "The schema of the ledger is older than this binary needs.",
                cause: "an upgrade",
                advice: "upgrade the schema with `sluice migrate`",
                exitCode: 7
            ),
            .ledgerSchemaTooNew: .init(
                .permanent,
                [.ledger],
                "The ledger is too new for this binary.",
                cause: "a machine that was not upgraded",
                advice: "upgrade sluice on this machine",
                exitCode: 7
            ),
            .ledgerMigrationChanged: .init(
                .permanent,
                [.ledger],
                "A migration differs from the one that was applied under its number.",
                cause: "a build with other migrations",
                advice: "released migrations never change; use the sluice that made this ledger",
                exitCode: 7
            ),
            .ledgerMigrationFailed: .init(
                .permanent,
                [.ledger],
                "A migration could not be applied; nothing of it remains.",
                cause: "objects that were made by hand",
                advice: "read PostgreSQL's message; nothing was changed"
            ),
            .ledgerConflict: .init(
                .permanent,
                [.ledger],
                "An entry with the same key exists, or another entry depends on this one.",
                cause: "the same work done twice",
                advice: "look at the existing entry"
            ),
            .ledgerRefused: .init(
                .permanent,
                [.ledger],
                "A value violates a rule of the ledger.",
                cause: "a queue name with spaces, an empty submission, a recipe that is too large",
                advice: "correct the value that the message names"
            ),
            .ledgerQuotaExceeded: .init(
                .permanent,
                [.ledger],
                "A limit is reached, which the message names. Nothing was changed.",
                cause: "more waiting jobs, uploaded bytes, webhooks or deliveries than a tenant or the ledger may have",
                advice: "do less at a time, wait until some are done, or ask an operator for a higher limit"
            ),
            .ledgerContention: .init(
                .infrastructure,
                [.ledger],
                "Another transaction, a lock or a limit of the server was in the way. Nothing was changed.",
                cause: "long transactions by hand",
                advice: "try again; look for long transactions if it happens often",
                exitCode: 5
            ),
            .ledgerLeaseOver: .init(
                .infrastructure,
                [.ledger],
                "The ledger declared the worker lost; the worker holds no jobs any more and registers again.",
                cause: "a machine that was suspended, a network that was cut off from the database",
                exitCode: 5
            ),
            .ledgerReadOnly: .init(
                .infrastructure,
                [.ledger],
                "The server accepts no changes.",
                cause: "a standby, a failover in progress",
                advice: "name all servers in the URL, so that sluice finds the primary",
                exitCode: 5
            ),
            .ledgerExhausted: .init(
                .infrastructure,
                [.ledger],
                "The server ran out of connections, memory or disk space.",
                cause: "too many clients, full disks",
                advice: "check the server's connections, memory and disk space",
                exitCode: 5
            ),
            .ledgerBadStatement: .init(
                .permanent,
                [.ledger],
                "The server rejected a statement as invalid.",
                cause: "a bug in Sluice",
                advice: "report the statement that the server rejected"
            ),
            .ledgerUnexpectedAnswer: .init(
                .permanent,
                [.ledger],
                "The answer of the server does not fit the statement.",
                cause: "a bug in Sluice",
                advice: "report the answer that did not fit"
            ),
            .coordinatorUnexpectedAnswer: .init(
                .permanent,
                [.ledger],
                "What answers at the coordinator's URL is not a coordinator, or its answer cannot be read.",
                cause: "a wrong URL, a proxy's page, a coordinator of another version",
                advice: "check SLUICE_URL, and that the coordinator has the version of this command",
                exitCode: 5
            ),
            .choreFailed: .init(
                .infrastructure,
                [.ledger],
                "A maintenance task failed; the other tasks continue, and this one is retried.",
                cause: "locks that are held for long, a server under load",
                advice: "\"sluice doctor\" shows which tasks are behind"
            ),
        ]
    )

    public static let losses = FailureSection(
        "Attempts that the ledger ended",
        introduction: "The ledger records these for attempts that their worker did not end.",
        [
            .workerLost: .init(
                .infrastructure,
                [.lease],
                "The worker sent no heartbeat for a whole lease. The job is retried.",
                cause: "crashes, network failures",
                advice: "check the worker's machine: \"sluice workers --ended-since 1d\" shows when it was last seen"
            ),
            .workersLost: .init(
                .permanent,
                [.lease],
                "Three workers were lost while they ran the job, so it is not retried.",
                cause: "a hostile file, a bug in Sluice; machines that are taken away again and again",
                advice: "look at the workers' logs; if the file is not the cause, \"sluice retry\" starts it again"
            ),
            .roomsCrashed: .init(
                .permanent,
                [.open, .decode],
                "Several pump rooms crashed on the job, so it is not retried.",
                cause: "a hostile or broken file, a bug in Sluice",
                advice: "look at the attempts with \"sluice job\", and report it with the file if you can"
            ),
            .stalled: .init(
                .transient,
                [.lease],
                "No frame was read for too long, although the worker sent heartbeats.",
                cause: "mounts that hang",
                advice: "check the mounts of that worker"
            ),
            .deadlineMissed: .init(
                .transient,
                [.lease],
                "The attempt ran past the time that its recipe allows, and the worker did not end it.",
                cause: "a worker that hangs; a limit that is too low",
                advice: "look at the log of that worker; raise wallSeconds if the limit is too low"
            ),
        ]
    )

    public static let releases = FailureSection(
        "Jobs that a worker released",
        introduction: "The job goes back to its queue, and the attempt does not count.",
        [
            .handedBack: .init(
                .infrastructure,
                [.release],
                "The worker released the job.",
                cause: "a worker that stopped"
            ),
            .draining: .init(
                .infrastructure,
                [.release],
                "The worker is stopping and released the job.",
                cause: "a deployment"
            ),
            .neighbourCrashed: .init(
                .infrastructure,
                [.release],
                "The pump room ended before it began this job.",
                cause: "another job that crashed the room"
            ),
            .fileSystemMissing: .init(
                .infrastructure,
                [.release],
                "The file system of the source or the output is no longer mounted. The message names it.",
                cause: "unplugged drives, lost network shares",
                advice: "mount that file system again; jobs that wait for it continue automatically"
            ),
            .albumWaits: .init(
                .infrastructure,
                [.release],
                "The loudness of the job's track has been measured. The job continues when all jobs of its batch are.",
                cause: "`submit --album`, `--replaygain album`"
            ),
            .fileSystemFull: .init(
                .infrastructure,
                [.write, .finish, .publish, .release],
                "The file system of the output is full. The message names it.",
                cause: "other files on it, a quota",
                advice: "free space on that file system; jobs that wait for it continue automatically"
            ),
            .rootNotWritable: .init(
                .infrastructure,
                [.release],
                "The worker's user may not write to the root of the output. The message names it.",
                cause: "a folder of another user, a file system that is mounted read-only",
                advice: "let the worker's user write to the root's folder; jobs that wait for it continue automatically"
            ),
            .unable: .init(
                .infrastructure,
                [.release],
                "This worker cannot do the job; another one may.",
                cause: "a codec, a root, a version or a format of sources that the worker lacks",
                advice: "start a worker that has the missing root, codec or format"
            ),
        ]
    )

    public static let mistakes = FailureSection(
        "Errors in Sluice",
        [
            .unexpected: .init(
                .permanent,
                [.open, .finish, .ledger],
                "An error that the catalogue does not know.",
                cause: "a bug in Sluice",
                advice: "report it with the text of the message"
            ),
            .workerError: .init(
                .infrastructure,
                [.ledger],
                "The worker met an error that the catalogue does not know; another worker may do the job.",
                cause: "a bug in Sluice, a machine in trouble",
                advice: "report it with the worker's log"
            ),
        ]
    )
}
