public import Conversion
import HTTPServer
public import Ledger
public import Storage

/// Serves the HTTP API of a ledger: what commands do, for programs.
public final class APIServer: Sendable {
    private let server: Server
    private let ledger: JobLedger
    /// With connections for tokens and health alone.
    private let reserve: JobLedger
    private let hub = EventHub()
    private let runner: BulkChangeRunner
    private let authenticator: TokenAuthenticator
    private let share: FileShare
    private let sweeper: ExcerptSweeper?

    /// A folder with files that programs may send or get.
    public struct RootPlace: Sendable, Hashable {
        public let name: String
        public let path: String
        public let rules: RootRules

        public init(name: String, path: String, rules: RootRules) {
            (self.name, self.path, self.rules) = (name, path, rules)
        }
    }

    public struct Configuration: Sendable {
        /// Where it listens, in the words of `ListenAddress`.
        public var addresses: [String]
        /// The role of requests without a token; `nil` refuses them.
        public var openRole: AccessRole?
        /// Names of this coordinator, besides those of this machine, by which browsers reach it.
        public var hosts: [String] = []
        /// Whether it may listen on addresses that other machines reach, without TLS.
        public var allowsInsecure = false
        public var version = ""
        /// The version of libavcodec that this binary uses.
        public var libavcodec = ""
        /// How many connections to the ledger it may have for requests. Tokens and health have two more, and bulk changes
        /// have two.
        public var connections = 8
        /// Where programs may send files.
        public var uploads: [RootPlace] = []
        /// Bytes of one of these files.
        public var mostUploadBytes: Int64 = 4 << 30
        /// Where programs may get the outputs of jobs.
        public var downloads: [RootPlace] = []
        /// The root of `downloads` in which old excerpts are removed.
        public var excerptRoot: String?
        /// Where submitters may look for sources.
        public var sources: [RootPlace] = []
        /// Begins sessions of the owner of a private cluster: whether the secret of a one-time link is valid, which it is
        /// once. `nil`: no links are made, and each session needs a token.
        package var redeemsLink: (@Sendable (String) -> Bool)?
        /// Serves browsers at the paths that the API does not use; `nil`: there is nothing at them.
        package var pages: (any PageService)?

        public init(addresses: [String]) { self.addresses = addresses }
    }

    /// Listens and serves until `stop`. Throws a `ListenError` if it cannot listen, or must not, and a `StorageError` if a
    /// root cannot be opened.
    public init(
        _ ledgerConfiguration: LedgerConfiguration,
        _ configuration: Configuration,
        environment: [String: String],
        complain: @escaping @Sendable (Failure) -> Void
    ) throws {
        var ledgerConfiguration = ledgerConfiguration
        ledgerConfiguration.connectionLimit = configuration.connections
        ledgerConfiguration.reachTimeout = .seconds(5)
        let addresses = try configuration.addresses.map { text in
            guard let address = ListenAddress(text) else {
                throw ListenError("cannot listen on \"\(text)\": it must be a port, an address and a port, or a path")
            }
            guard address.isLocal || configuration.allowsInsecure else {
                throw ListenError(
                    "\(address) can be reached from other machines, and tokens would pass in clear text; listen on "
                        + "localhost behind a proxy with TLS, or add --insecure-http"
                )
            }
            guard address.isLocal || configuration.openRole == nil else {
                throw ListenError("requests without a token are for addresses of this machine only, not for \(address)")
            }
            return address
        }
        let offer = FileShare.Offer(configuration, complain)
        try offer.uploads.wait()
        if offer.downloads !== offer.sources { try offer.downloads.wait() }
        // The coordinator has opened the same ones, and has told which do not answer.
        try offer.sources.wait(for: .seconds(1))
        let share = FileShare(offer)
        self.share = share
        sweeper = configuration.excerptRoot.map { ExcerptSweeper(share, root: $0, complain: complain) }
        let ledger = try JobLedger(ledgerConfiguration)
        self.ledger = ledger
        var reserveConfiguration = ledgerConfiguration
        reserveConfiguration.connectionLimit = 2
        reserve = try JobLedger(reserveConfiguration)
        // A private cluster has no other coordinator.
        runner = try BulkChangeRunner(
            ledgerConfiguration,
            isAlone: configuration.redeemsLink != nil,
            complain: complain
        )
        let operations = try Self.operations(
            version: configuration.version,
            libavcodec: configuration.libavcodec,
            hub: hub,
            hurry: runner.hurry,
            share: share
        )
        let origins = OriginCheck(names: configuration.hosts)
        authenticator = try TokenAuthenticator(
            ledger,
            lookUps: reserve,
            openRole: configuration.openRole,
            origins: origins
        )
        let links = try configuration.redeemsLink.map { try LinkSessions(ledger, redeems: $0) }
        server = try Server(
            addresses,
            isForUserAlone: links != nil,
            environment: environment,
            service: APIService(
                reserve,
                authenticator,
                origins,
                operations: operations,
                links: links,
                pages: configuration.pages,
                complain: complain
            )
        )
        runner.start()
        sweeper?.start()
    }

    /// Where it listens.
    public var addresses: [String] { server.addresses.map(\.description) }

    /// Answers what was asked, and ends.
    public func stop() async {
        await hub.stop()
        await runner.stop()
        await server.stop()
        await authenticator.stop()
        await sweeper?.stop()
        share.stop()
        await ledger.close()
        await reserve.close()
    }

    /// All that programs can ask for.
    static func operations(
        version: String,
        libavcodec: String = "",
        hub: EventHub = EventHub(),
        hurry: @escaping @Sendable () -> Void = {},
        share: FileShare = FileShare(FileShare.Offer())
    ) throws -> [Operation] {
        var operations: [Operation] =
            ReadingOperations.all + CommandOperations.all + SubmittingOperation.all + ChangingOperations.all
            + BulkChangeOperations.all(hurry) + WebhookOperations.all + PresetOperations.all
        operations += FilterOperations.all + AdministeringOperations.all
        operations.append(CompatibilityOperation.value)
        operations += UploadedFileOperations.all(share) + [PlaceOperation.value(share)]
        operations += [
            UploadOperation.value(share), DownloadOperation.value(share),
            EventOperation.value(hub), MetricsOperation.value(version: version, libavcodec: libavcodec),
            HealthOperations.alive, HealthOperations.ready(),
        ]
        let named = operations + [HealthOperations.description { "" }]
        let text = try APIDescription.text(named, version: version) + "\n"
        return operations + [HealthOperations.description { text }]
    }
}

extension FileShare.Offer {
    fileprivate init(_ configuration: APIServer.Configuration, _ complain: @escaping @Sendable (Failure) -> Void) {
        mostBytes = configuration.mostUploadBytes
        // Links are refused: one that leads to another folder of the root would lead out of a tenant's own.
        uploads = OpeningRoots(
            configuration.uploads.map {
                .init(name: $0.name, path: $0.path, rules: $0.rules, withoutOpenat2: true)
            },
            complain: complain
        )
        sources = OpeningRoots(configuration.sources.map { .init(name: $0.name, path: $0.path, rules: $0.rules) })
        guard configuration.downloads != configuration.sources else {
            downloads = sources
            return
        }
        downloads = OpeningRoots(
            configuration.downloads.map { .init(name: $0.name, path: $0.path, rules: $0.rules) },
            complain: complain
        )
    }
}
