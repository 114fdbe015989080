import Conversion
import Ledger
import PumpRoom
import Worker

/// `sluice worker`: claims jobs from the ledger and runs them until a signal stops it.
enum WorkerCommand {
    private static let slots = Option<Int>(
        "slots",
        .whole(in: 1...1_024),
        "conversions at one time, otherwise one for each processor",
        in: .work
    )
    private static let queue = Option<String>(
        "queue",
        ValueType(placeholder: "QUEUE", completion: .ledger(.queues), read: nonEmpty),
        "take jobs from this queue only; may be said several times",
        isRepeatable: true,
        in: .work
    )
    private static let name = Option<String>(
        "name",
        ValueType(placeholder: "NAME", read: nonEmpty),
        "what people call it, otherwise the machine's name",
        in: .work
    )
    private static let grace = SettledOption<Duration>(
        "grace",
        .duration,
        fallback: "30s",
        "how long a stop leaves for what has begun",
        in: .work
    )
    private static let outageLimit = SettledOption<Duration>(
        "outage-limit",
        .duration,
        fallback: "1h",
        "how long jobs are kept while the ledger is silent; 0s: until the lease is over",
        environment: "SLUICE_OUTAGE_LIMIT",
        in: .work
    )

    private static let withoutCodec = Option<Codec>(
        "without-codec",
        .choice(of: Codec.allCases.filter { $0 != .copy }, "CODEC") { $0.title },
        "leave jobs that write it to other workers; may be said several times",
        isRepeatable: true,
        in: .work
    )

    private static let sandbox = SettledOption<RoomSandbox>(
        "sandbox",
        .choice("HOW") { how in
            switch how {
            case .require: "no room works that is not locked whole"
            case .bestEffort: "a layer that the kernel lacks is warned of"
            case .off: "no lock, to find out what it has to do with a failure"
            }
        },
        fallback: "require",
        "how far pump rooms have to be locked",
        environment: "SLUICE_SANDBOX",
        in: .work
    )
    private static let inFlight = SettledOption<Int>(
        "in-flight-limit",
        .whole(in: 1...64),
        fallback: "8",
        "jobs that a pump room holds at one time; 1 keeps their files apart",
        environment: "SLUICE_IN_FLIGHT_LIMIT",
        in: .work
    )
    private static let jobsPerRoom = SettledOption<Int>(
        "jobs-per-room",
        .whole(in: 1...1_000_000),
        fallback: "1000",
        "jobs after which a pump room is replaced; 1 gives each its own",
        environment: "SLUICE_JOBS_PER_ROOM",
        in: .work
    )
    private static let roomMemory = SettledOption<ByteSize>(
        "room-memory",
        .size("64MiB", "64GiB"),
        fallback: "1GiB",
        "memory that a pump room may take",
        environment: "SLUICE_ROOM_MEMORY",
        in: .work
    )
    private static let outputLimit = SettledOption<ByteSize>(
        "output-limit",
        .size("1kB", "1024TiB"),
        fallback: "1TiB",
        "bytes that no output exceeds, whatever its recipe says",
        environment: "SLUICE_OUTPUT_LIMIT",
        in: .work
    )

    private static let jobTime = Option<Duration>(
        "job-time",
        .duration,
        "no job takes longer, otherwise ten minutes more than four times its length",
        in: .work
    )
    private static let jobCPU = Option<Duration>(
        "job-cpu",
        .duration,
        "no job takes more processor time, otherwise a day or what its recipe says",
        in: .work
    )

    @Sendable private static func nonEmpty(_ text: String) throws(Misfit) -> String {
        guard !text.isEmpty, text.utf8.count <= 200 else { throw Misfit(why: "has to have 1 to 200 bytes") }
        return text
    }

    static let value = Subcommand(
        name: "worker",
        summary: "take jobs from the ledger and carry them out, until told to stop",
        discussion: [
            "Ctrl-C or SIGTERM ends it: it claims no more, what has begun has --grace to end, and the rest goes back to "
                + "the line with no attempt spent. A second one hands all back at once.",
            "A worker takes only jobs whose files are under its roots: without --root it takes none. Jobs that were submitted "
                + "without --root need --root local=/.",
            "A job whose roots or codec this worker does not have is left for one that has them. Where a disk or a mount "
                + "fails, the jobs of that root are left to others until it is back; a worker without another root pauses, "
                + "says so, and goes on by itself.",
            "A database that goes away is waited for: for --outage-limit the worker keeps its jobs, and goes on with them when the "
                + "database is back, unless another worker has them by then.",
            "RULES of a root, with commas between them: ro (nothing is written there), wo (nothing is read there), create (nothing is "
                + "replaced), ext=flac+mp3 (outputs end in these), mode=640 (permissions of outputs, which are otherwise at most "
                + "those of their source).",
            "Every attempt is a line on standard error: of JSON, or readable on a terminal.",
        ],
        options: [
            slots.form, queue.form, ServiceOptions.root.form, name.form, grace.form, outageLimit.form,
            withoutCodec.form,
            sandbox.form,
            jobTime.form, jobCPU.form,
            inFlight.form, jobsPerRoom.form, roomMemory.form, outputLimit.form,
        ]
            + LedgerOptions.forms,
        examples: [
            Example(
                line: "sluice worker --root in=/mnt/uploads:ro --root out=/mnt/archive",
                purpose: "read in one root, write in the other"
            ),
            Example(
                line: "sluice worker --slots 2 --queue nightly --root audio=/srv/audio",
                purpose: "help with one queue"
            ),
        ],
        run: run
    )

    private static func limit(_ room: inout RoomConfiguration, _ invocation: Invocation) {
        if let time = invocation[jobTime] {
            // An explicit limit replaces the one computed from the job's length.
            (room.wallLimit, room.slowestPace) = (time, nil)
        }
        if let time = invocation[jobCPU] {
            let seconds = Int(time.components.seconds)
            room.highestLimits.cpuSeconds = seconds
            room.usualLimits.cpuSeconds = seconds
        }
    }

    @Sendable private static func run(_ invocation: Invocation, _ console: Console) throws -> ExitCode {
        WorkerMemory.prepareForManyJobs()
        var configuration = WorkerConfiguration()
        configuration.build = Version.number
        configuration.slots = invocation[slots] ?? configuration.slots
        configuration.queues = invocation.all(queue)
        configuration.roots = try LedgerOptions.roots(invocation)
        configuration.name = invocation[name] ?? configuration.name
        configuration.gracePeriod = invocation[grace]
        configuration.outageLimit = invocation[outageLimit]
        configuration.codecsToLeave = Set(invocation.all(withoutCodec))
        configuration.room.sandbox = invocation[sandbox]
        limit(&configuration.room, invocation)
        configuration.room.inFlightLimit = invocation[inFlight]
        configuration.room.jobsPerRoom = invocation[jobsPerRoom]
        configuration.room.memoryLimitBytes = invocation[roomMemory].bytes
        configuration.room.outputLimitBytes = invocation[outputLimit].bytes
        let journal = Journal(console, invocation)
        do {
            let worker = try AudioWorker(configuration, ledger: LedgerOptions.configuration(invocation)) { event in
                journal.write(WorkerLine(event))
            }
            let problem = ForegroundWork.serve(
                onSignal: { count in if count == 1 { worker.drain() } else { worker.stopAtOnce() } },
                { () async -> (any Error)? in
                    do {
                        try await worker.run()
                        return nil
                    } catch {
                        return error
                    }
                }
            )
            journal.finish()
            if let problem { throw problem }
            return .success
        } catch {
            return try ServiceOptions.show(error, on: console)
        }
    }
}
