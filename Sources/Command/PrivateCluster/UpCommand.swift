import Console
import Conversion
import LocalCluster
import PumpRoom
import Storage
import System
import Worker

/// `sluice up`: starts the private cluster.
enum UpCommand {
    private static let slots = Option<Int>(
        "slots",
        .whole(in: 1...1024),
        "number of conversions at once (default: as last time, at first one per core)",
        in: .general
    )
    private static let root = Option<String>(
        "root",
        .rootWithRules,
        "a folder that it may use (default: those of last time, at first your home)",
        isRepeatable: true,
        in: .general
    )
    private static let port = Option<Int>(
        "port",
        .whole(in: 0...65_535),
        "serve its page at this port (default: as last time, at first a free one: 0)",
        in: .general
    )
    private static let noPage = Switch("no-page", "serve no page from now on; --port serves it again", in: .general)
    private static let json = Switch("json", "print the running cluster as one JSON line", in: .output)

    static let value: Subcommand = Subcommand(
        name: "up",
        summary: "start your private cluster on this machine",
        discussion: [
            "The private cluster is a PostgreSQL server that only you can reach, a coordinator and a worker. It "
                + "keeps running after this command. Every command that needs a ledger starts it, unless you choose "
                + "another ledger.",
            "It reads and writes files in your home, which is the root \"local\". With --root it uses the given folders "
                + "instead, also after a restart; RULES restrict their use, as with \"sluice worker\". To keep your home, "
                + "name it as well. Jobs with other roots wait.",
            "The coordinator serves a page for browsers to you alone, at a port of this machine and at a socket beside that "
                + "of the database. \"sluice open\" opens it.",
            "Its files are in XDG_DATA_HOME/sluice (for root, whose PostgreSQL runs as the account postgres: "
                + "/var/lib/sluice). Accepted jobs survive a power cut.",
        ],
        options: [slots.form, root.form, port.form, noPage.form, json.form],
        examples: [
            Example(line: "sluice up --slots 4", purpose: "with four conversions at once"),
            Example(line: "sluice up --root local=~ --root srv=/srv", purpose: "your home, and files in /srv"),
        ],
        run: run
    )

    /// The hidden command that runs as the supervisor, in the background.
    static let supervising: Subcommand = Subcommand(
        name: "supervise",
        summary: "keep the private cluster running",
        isHidden: true,
        run: { invocation, _ in
            ResourceLimit.forbidCoreDumps()
            ServiceOptions.closeFilesOfCaller(invocation.environment)
            // The user's own files on the user's own machine: run even where the kernel lacks part of the sandbox.
            let sandbox = ["--sandbox", RoomSandbox.bestEffort.rawValue]
            try ClusterSupervisor.run(ClusterPlace(environment: invocation.environment), workerOptions: sandbox)
            return .success
        }
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let cluster = try PrivateCluster(environment: invocation.environment)
        var state = try cluster.ensureRunning(
            slots: invocation[slots],
            roots: roots(invocation),
            page: page(invocation, of: cluster)
        )
        // A supervisor of an earlier release records none.
        state.roots = state.roots ?? cluster.roots
        try show(state, of: cluster.place, as: invocation[json], on: console)
        // An address that only the services may read is that of another ledger.
        if try LedgerOptions.readablePlace(invocation) != .cluster {
            console.warn(
                "other commands use another ledger; \"--context \(LedgerChoice.privateContext)\" names this one"
            )
        }
        return .success
    }

    /// The roots that `--root` names, with absolute paths; `nil` if it names none.
    private static func roots(_ invocation: Invocation) throws -> [String]? {
        guard !invocation.all(root).isEmpty else { return nil }
        let words = try ServiceOptions.absoluteRoots(invocation.all(root), invocation)
        for word in words {
            // The worker would not start, and the command wait for it.
            let path = try ValueType<WorkerConfiguration.RootPlace>.rootPlace.read(word).path
            guard FileFacts.of(path: path, followingLinks: true)?.kind == .folder else {
                throw UsageError("--root \(word.printable): there is no such folder")
            }
        }
        return words
    }

    /// The page that `--port` and `--no-page` ask for; `nil` without them.
    private static func page(_ invocation: Invocation, of cluster: PrivateCluster) throws -> ClusterPage? {
        guard !invocation[noPage] else {
            guard invocation[port] == nil else { throw UsageError("--port and --no-page cannot be combined") }
            return ClusterPage(isServed: false)
        }
        // The option takes no other numbers.
        guard let port = invocation[port].flatMap({ UInt16(exactly: $0) }) else { return nil }
        guard port != 0 else { return ClusterPage() }
        let isOurs = cluster.place.links.url?.hasSuffix(":\(port)") ?? false
        guard isOurs || LocalPort.isFree(port) else {
            throw Refusal(
                message: "the page cannot have port \(port): another program listens at it, or it is reserved",
                hint: "\"--port 0\" takes a free one",
                exitCode: .configuration
            )
        }
        return ClusterPage(port: port)
    }

    /// The command that gives the private cluster these roots; others can follow.
    static func line(roots: [String]) -> String {
        "sluice up" + roots.map { " --root \(ShellWord.quoted($0).printable)" }.joined()
    }

    private struct Record: Encodable {
        let folder: String
        let socket: String
        let page: String?
        let slots: Int?
        let roots: [String]
        let processes: [String: Int32]
    }

    private static func show(
        _ state: ClusterState,
        of place: ClusterPlace,
        as isJSON: Bool,
        on console: CommandOutput
    ) throws {
        let processes = [
            "supervisor": state.supervisor?.id, "postgres": state.postgres?.id, "coordinator": state.coordinator?.id,
            "worker": state.worker?.id,
        ].compactMapValues(\.self)
        if isJSON {
            let record = Record(
                folder: place.folder,
                socket: place.sockets,
                page: place.links.url,
                slots: state.slots,
                roots: state.roots ?? [],
                processes: processes
            )
            try console.print(JSONText.line(record))
        } else {
            let slots = Figures.count(state.slots ?? 0, "slot")
            try console.print("the private cluster is running with \(slots): \(place.folder.printable)")
            try console.print("its roots are \((state.roots ?? []).joined(separator: ", ").printable)")
            if let url = place.links.url { try console.print("its page is at \(url); \"sluice open\" opens it") }
        }
    }
}

/// `sluice down`: stops the private cluster.
enum DownCommand {
    static let value: Subcommand = Subcommand(
        name: "down",
        summary: "stop the private cluster",
        discussion: [
            "Running conversions get up to half a minute to finish; the others are released. Waiting jobs "
                + "stay in the queue until the next \"sluice up\"."
        ],
        examples: [Example(line: "sluice down", purpose: "until it is needed again")],
        run: { invocation, console in
            let didRun = try PrivateCluster(environment: invocation.environment).stop()
            console.say(didRun ? "the private cluster is stopped" : "the private cluster was not running")
            return .success
        }
    )
}
