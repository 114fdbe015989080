import API
import Console
import Conversion
import Glibc
import Ledger
import PumpRoom
import System
import Worker

/// `sluice worker`: claims jobs from the ledger and runs them until a signal stops it.
enum WorkerCommand {
    private static let slots = Option<Int>(
        "slots",
        .whole(in: 1...1_024),
        "number of conversions at once (default: one per processor)",
        in: .work
    )
    private static let queue = Option<String>(
        "queue",
        .queueName.named("QUEUE"),
        "take jobs only from this queue",
        isRepeatable: true,
        in: .work
    )
    private static let name = Option<String>(
        "name",
        ValueType(placeholder: "NAME", read: nonEmpty),
        "the worker's name (default: the host name)",
        in: .work
    )
    private static let grace = SettledOption<Duration>(
        "grace",
        .duration,
        fallback: "30s",
        "time that running jobs get to finish when the worker stops",
        in: .work
    )
    private static let outageLimit = SettledOption<Duration>(
        "outage-limit",
        .duration,
        fallback: "1h",
        "how long to keep jobs if the ledger is unreachable; 0s: until the lease expires",
        environment: "SLUICE_OUTAGE_LIMIT",
        in: .work
    )
    private static let untilIdle = Switch(
        "until-idle",
        "end when there is no job to claim and none is left in hand",
        in: .work
    )

    private static let withoutCodec = Option<Codec>(
        "without-codec",
        .choice(of: Codec.allCases.filter { $0 != .copy }, "CODEC") { $0.title },
        "leave jobs with this output codec to other workers",
        isRepeatable: true,
        in: .work
    )

    private static let formats = Option<Set<SourceFormat>>(
        "formats",
        ValueType(placeholder: "LIST", read: sourceFormats),
        "read only these formats of sources; leave other jobs to other workers",
        in: .work
    )

    @Sendable private static func sourceFormats(_ text: String) throws(Misfit) -> Set<SourceFormat> {
        let words = text.split { $0 == "," || $0 == " " || $0 == "\t" }
        guard !words.isEmpty else { throw Misfit(why: "names no format") }
        var formats: Set<SourceFormat> = []
        for word in words {
            guard let format = SourceFormat(rawValue: String(word)) else {
                let known = SourceFormat.allCases.map(\.rawValue).joined(separator: ", ")
                throw Misfit(why: "has no format \"\(String(word).printable)\"; known: \(known)")
            }
            formats.insert(format)
        }
        return formats
    }

    private static let sandbox = SettledOption<RoomSandbox>(
        "sandbox",
        .choice("HOW") { how in
            switch how {
            case .require: "use only fully sandboxed pump rooms"
            case .bestEffort: "warn about sandbox layers that the kernel lacks"
            case .off: "no sandbox, to diagnose failures"
            }
        },
        fallback: "require",
        "how strictly to sandbox pump rooms",
        environment: "SLUICE_SANDBOX",
        in: .work
    )
    private static let inFlight = SettledOption<Int>(
        "in-flight-limit",
        .whole(in: 1...64),
        fallback: "8",
        "maximum number of jobs that a pump room holds at once; 1 isolates their files",
        environment: "SLUICE_IN_FLIGHT_LIMIT",
        in: .work
    )
    private static let jobsPerRoom = SettledOption<Int>(
        "jobs-per-room",
        .whole(in: 1...1_000_000),
        fallback: "1000",
        "replace a pump room after N jobs; 1 gives each job a separate room",
        environment: "SLUICE_JOBS_PER_ROOM",
        in: .work
    )
    private static let roomMemory = SettledOption<ByteSize>(
        "room-memory",
        .size("64MiB", "64GiB"),
        fallback: "1GiB",
        "memory limit of a pump room",
        environment: "SLUICE_ROOM_MEMORY",
        in: .work
    )
    private static let outputLimit = SettledOption<ByteSize>(
        "output-limit",
        .size("1kB", "1024TiB"),
        fallback: "1TiB",
        "maximum size of an output, whatever its recipe says",
        environment: "SLUICE_OUTPUT_LIMIT",
        in: .work
    )

    private static let jobTime = Option<Duration>(
        "job-time",
        .duration,
        "time limit of a job (default: ten minutes plus four times its length)",
        in: .work
    )
    private static let jobCPU = Option<Duration>(
        "job-cpu",
        .duration,
        "CPU time limit of a job (default: a day or what its recipe says)",
        in: .work
    )

    @Sendable private static func nonEmpty(_ text: String) throws(Misfit) -> String {
        guard !text.isEmpty, text.utf8.count <= 200 else { throw Misfit(why: "must have 1 to 200 bytes") }
        return text
    }

    static let value: Subcommand = Subcommand(
        name: "worker",
        summary: "claim and convert jobs until stopped",
        discussion: [
            "Ctrl-C or SIGTERM stops it: it claims no more jobs, gives running jobs --grace to finish, and "
                + "releases the others without using up an attempt. A second signal releases all jobs at once.",
            "A worker takes only jobs whose files are under its roots: without --root it takes none. Jobs that "
                + "were submitted without --root need --root local=/.",
            "A worker leaves jobs to others if it lacks their roots or their codec. If a disk or a mount fails, "
                + "it disables that root, and leaves its jobs to others, until the root is available again; a worker with no "
                + "other root pauses, reports it, and continues automatically.",
            "If the database is unreachable, the worker keeps its jobs for --outage-limit, and continues them "
                + "when the database is back, unless another worker has taken them over.",
            "With --until-idle the worker ends, with exit code 0, once it holds no job and finds none to claim: in "
                + "its queues, for its roots and codecs. It does not wait for jobs that are delayed or paused. While "
                + "the ledger is unreachable or one of its roots is not available, it stays.",
            "RULES of a root, separated by commas: ro (never write), wo (never read), create (never replace "
                + "files), ext=flac+mp3 (extensions that outputs may have), mode=640 (permissions of outputs; by "
                + "default those of their folder, and at most those of the source), group=audio (their group).",
            "A root may be a bucket, s3://BUCKET/PREFIX?region=REGION, or a folder of a web server, https://HOST/PATH: jobs "
                + "read sources there. Outputs need a folder.",
            "Settings that neither the command line nor the environment gives come from the file of --config, by "
                + "default /etc/sluice/sluice.conf if it exists. A line of it is the name of an option and its "
                + "value, such as: slots = 8",
            "The worker logs each attempt as a line on standard error: as text on a terminal, otherwise as "
                + "JSON.",
        ],
        options: [
            slots.form, queue.form, ServiceOptions.root.form, name.form, grace.form, outageLimit.form,
            untilIdle.form,
            withoutCodec.form, formats.form,
            sandbox.form,
            jobTime.form, jobCPU.form,
            inFlight.form, jobsPerRoom.form, roomMemory.form, outputLimit.form,
            ServiceFile.option.form,
        ]
            + LedgerOptions.databaseForms,
        examples: [
            Example(
                line: "sluice worker --root in=/mnt/uploads:ro --root out=/mnt/archive",
                purpose: "read from one root, write to another"
            ),
            Example(
                line: "sluice worker --slots 2 --queue nightly --root audio=/srv/audio",
                purpose: "serve only one queue"
            ),
            Example(
                line: "sluice worker --until-idle --queue nightly --root audio=/srv/audio",
                purpose: "work off one queue, then end"
            ),
        ],
        run: run
    )

    private static func limit(_ room: inout RoomConfiguration, _ invocation: Invocation) {
        if let time = invocation[jobTime] {
            // An explicit limit replaces the one computed from the job's length.
            (room.wallLimit, room.minimumSpeed) = (time, nil)
        }
        if let time = invocation[jobCPU] {
            let seconds = Int(time.components.seconds)
            room.highestLimits.cpuSeconds = seconds
            room.usualLimits.cpuSeconds = seconds
        }
    }

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let invocation = try ServiceFile.completing(invocation)
        ServiceOptions.closeFilesOfCaller(invocation.environment)
        ResourceLimit.forbidCoreDumps()
        WorkerMemory.prepareForManyJobs()
        // A job may have 250 sources, and a slot several jobs that wait.
        ResourceLimit.descriptors.raise(to: 65_536)
        // Outputs have the permissions of their folders, and so have new folders, from the moment of their creation.
        umask(0)
        var configuration = WorkerConfiguration()
        configuration.build = Version.number
        configuration.slots = invocation[slots] ?? configuration.slots
        configuration.queues = invocation.all(queue)
        let places = try LedgerOptions.roots(invocation, mayBeServers: true)
        configuration.roots = places.filter(\.isFolder)
        configuration.objectRoots = try ObjectPlaces.roots(
            places.filter { !$0.isFolder },
            environment: invocation.environment
        )
        configuration.name = invocation[name] ?? configuration.name
        configuration.gracePeriod = invocation[grace]
        configuration.outageLimit = invocation[outageLimit]
        configuration.endsWhenIdle = invocation[untilIdle]
        configuration.codecsToLeave = Set(invocation.all(withoutCodec))
        configuration.room.formats = invocation[formats]
        configuration.room.sandbox = invocation[sandbox]
        limit(&configuration.room, invocation)
        configuration.room.inFlightLimit = invocation[inFlight]
        configuration.room.jobsPerRoom = invocation[jobsPerRoom]
        configuration.room.memoryLimitBytes = invocation[roomMemory].bytes
        configuration.room.outputLimitBytes = invocation[outputLimit].bytes
        let journal = Journal(console, invocation)
        let report = ServiceReport(invocation.environment, slots: configuration.slots)
        // Without a service manager, nothing receives the signs of life.
        configuration.pulseInterval = report?.pulse ?? .seconds(3_600)
        let grace = configuration.gracePeriod
        do {
            let worker = try AudioWorker(
                configuration,
                ledger: LedgerOptions.configuration(invocation),
                onEvent: { event in
                    journal.write(WorkerLine(event))
                    report?.note(event, grace: grace)
                },
                pulse: { report?.beat($0) }
            )
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
