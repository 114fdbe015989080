import Console
import Conversion
import Ledger
import ObjectStorage
import Synchronization
import System
import Worker

/// A root that is a bucket, in which commands find sources. It looks for credentials when it is first asked for something.
final class SourceBucket: Sendable {
    let name: String
    let address: BucketAddress
    /// Whether the user named it for this command. A context or a settings file may name it for workers that have other
    /// credentials than the user.
    let isNamed: Bool
    private let environment: [String: String]
    private let state = Mutex(State())

    private struct State {
        var clients: Clients?
        /// Whether the store has answered, so that it is worth waiting for.
        var hasAnswered = false
    }

    private struct Clients: Sendable {
        /// For the first request: an address with a mistake in it does not keep the user waiting.
        let first: StoreClient
        /// So that a list goes on behind a store that is away for some minutes.
        let later: StoreClient
    }

    /// For the help of commands that find sources.
    static let discussion =
        "A root may be a bucket, s3://BUCKET/PREFIX?region=REGION, in which the command finds sources with your credentials. "
        + "With -r it lists a folder ROOT:PATH/ of it; an object ROOT:PATH must exist."

    /// What is at a path.
    enum Look: Sendable {
        /// With its length and its time, if the store tells the time.
        case object(SourceStamp?)
        case absent
    }

    /// Throws for an address that no bucket can have, and for rules that forbid reading.
    init(
        _ place: WorkerConfiguration.RootPlace,
        isNamed: Bool,
        environment: [String: String]
    ) throws(UsageError) {
        (name, self.isNamed, self.environment) = (place.name, isNamed, environment)
        try place.checkAsSource()
        address = try BucketPlaces.address(of: place)
    }

    /// The address, as in `--root`.
    var text: String { address.text }

    private static func patience(_ attempts: Int, _ deadline: Duration) -> StoreClient.Patience {
        var patience = StoreClient.Patience()
        (patience.attempts, patience.deadline) = (attempts, deadline)
        return patience
    }

    private func client() throws(UsageError) -> StoreClient {
        try state.withLock { state throws(UsageError) in
            if let clients = state.clients { return state.hasAnswered ? clients.later : clients.first }
            // From here on this process holds credentials, as services do.
            ResourceLimit.forbidCoreDumps()
            let store = try BucketPlaces.store(address, of: name, environment: environment)
            func client(_ patience: StoreClient.Patience) -> StoreClient {
                StoreClient(address, region: store.region, credentials: store.credentials, patience: patience)
            }
            let clients = Clients(
                first: client(Self.patience(4, .seconds(30))),
                later: client(Self.patience(12, .seconds(240)))
            )
            state.clients = clients
            return clients.first
        }
    }

    private func noteAnswer() { state.withLock { $0.hasAnswered = true } }

    // MARK: - Questions

    /// Asks for the object at a path below the root. Blocks. Throws a `StoreError`, an `AddressError` for a path that no
    /// object has, or a `UsageError` if the user's settings cannot be read.
    func look(at path: String) throws -> Look {
        let facts = try client().facts(of: address.key(of: path))
        noteAnswer()
        guard let facts else { return .absent }
        return .object(SourceStamp(bytes: facts.byteCount, facts.modified))
    }

    /// Whether there are objects in a folder, a path without a slash at its end. Blocks. Throws as `look(at:)` does.
    func hasObjects(in folder: String) throws -> Bool {
        let page = try client().page(prefix: prefix(of: folder), most: 1)
        noteAnswer()
        // A page may be empty and not the last one.
        return !page.objects.isEmpty || page.next != nil
    }

    /// The objects in a folder and in those below it. Empty stands for the root.
    func list(_ folder: String) throws -> ObjectList { try ObjectList(client(), prefix: prefix(of: folder)) }

    /// What the keys of all objects in a folder begin with.
    func prefix(of folder: String) throws(AddressError) -> String {
        folder.isEmpty ? address.prefix : try address.key(of: folder) + "/"
    }

    // MARK: - Errors

    /// Whether the error may be due to credentials that are not those of the workers.
    static func concernsCredentials(_ error: any Error) -> Bool {
        let kind = (error as? StoreError)?.kind
        return kind == .accessDenied || kind == .noCredentials
    }

    /// Whether the error only says that this user, on this machine, does not get to a bucket of the workers. A store that has
    /// answered before is away for all.
    func isOutOfReach(_ error: any Error) -> Bool {
        guard !isNamed else { return false }
        let isAway = (error as? StoreError)?.kind == .unavailable && !state.withLock { $0.hasAnswered }
        return isAway || Self.concernsCredentials(error)
    }

    /// What to tell the user when a request for `shown`, a location, has failed. `action` is the permission that it needs.
    func refusal(_ error: any Error, _ shown: String, needing action: String) -> any Error {
        if let error = error as? AddressError {
            return UsageError("\(shown): \(error.why)".printable, hint: error.hint?.printable)
        }
        guard let error = error as? StoreError else { return error }
        var detail = error.detail
        if error.kind == .noSuchBucket { detail = "no such bucket: \(address.bucket)" }
        return Refusal(
            message: "cannot \(error.operation) \(shown): \(detail)",
            details: ["in \(error.place)".printable],
            hint: hint(error, action),
            exitCode: Self.exitCode(error.kind)
        )
    }

    private func hint(_ error: StoreError, _ action: String) -> String? {
        switch error.kind {
        case .accessDenied:
            let isWrongKey =
                error.problem?.concernsCredentials == true || error.problem?.code == "SignatureDoesNotMatch"
            guard !isWrongKey else { return "check the credentials: the store does not take them" }
            let isList = action == Self.listing
            let resource = isList ? address.bucket : "\(address.bucket)/\(address.prefix)*"
            let also =
                isList ? "" : "; without s3:ListBucket, a store answers like this for missing objects, too"
            return "allow the credentials \(action) on arn:aws:s3:::\(resource)\(also)"
        case .unavailable: return "nothing was submitted; run the command again when the store answers"
        default: return error.hint
        }
    }

    private static func exitCode(_ kind: StoreError.Kind) -> ExitCode {
        switch kind {
        case .noSuchBucket, .noSuchObject: .notFound
        case .accessDenied: .permission
        case .noCredentials: .configuration
        case .unavailable: .unreachable
        default: .failure
        }
    }

    static let listing = "s3:ListBucket"
    static let reading = "s3:GetObject"
}

extension SourceStamp {
    /// `nil` without a time. Stores tell it in seconds.
    init?(bytes: Int64, _ modified: StoreTime?) {
        guard let modified else { return nil }
        self.init(bytes: bytes, modified: modified.nanoseconds)
    }
}
