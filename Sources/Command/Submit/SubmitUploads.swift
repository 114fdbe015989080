import API
import Console
import Conversion
import FoundationEssentials
import Ledger
import LedgerClient
import Storage
import System

/// Files of this machine that no worker can read, and that `submit` therefore sends to the cluster.
enum SubmitUploads {
    static let option = Option<String>(
        "upload-to",
        .text.named("ROOT:FOLDER"),
        "send files under no --root to this folder of the cluster, over HTTP",
        in: .source
    )

    /// The folder below a root where files go that the user gives no folder for.
    private static let usualFolder = "uploads/"

    /// What the cluster does with files, as far as the caller may know it.
    private struct Cluster: Sendable {
        var offer = FileOffer()
        /// The roots of the running workers; `nil` if there are none, or if the caller may not see them.
        var roots: Set<String>?
        var limits: TenantLimits?
    }

    /// `roots`, or the same with places for the files that must be sent, or with the reason why none can be. `words` name all
    /// sources but those in lists.
    static func settle(_ roots: PathRoots, _ words: [String], _ invocation: Invocation) throws -> PathRoots {
        let isNamed = try !LedgerOptions.rootWords(invocation).isEmpty
        let wish = invocation[option]
        guard try LedgerOptions.coordinator(invocation) != nil else {
            if wish == nil { return roots }
            throw UsageError(
                "\(option.form.word) needs a coordinator",
                hint: "name it with --url, SLUICE_URL or a context"
            )
        }
        // A folder that the user names is checked, also if nothing is sent.
        guard wish != nil || namesFilesElsewhere(words, roots, isNamed: isNamed, invocation) else { return roots }
        guard let cluster = try look(invocation) else { return roots }
        if wish == nil, !isNamed {
            if cluster.roots?.contains(PathRoots.usual.name) == true { return roots }
            if cluster.offer.uploads.isEmpty {
                // Without running workers, their future roots are unknown.
                guard let known = cluster.roots else { return roots }
                return roots.refusing(because: refusal(known))
            }
        }
        if wish == nil, cluster.offer.uploads.isEmpty { return roots }
        let places = UploadPlaces(base: try base(wish, cluster), mostBytes: cluster.offer.mostUploadBytes)
        return roots.sending(to: places, isNamed: isNamed)
    }

    /// The same for a command that sends no files: `roots`, or the reason why no file of this machine can be used.
    static func settleUnsent(_ roots: PathRoots, _ words: [String], _ invocation: Invocation) throws -> PathRoots {
        guard try LedgerOptions.coordinator(invocation) != nil, try LedgerOptions.rootWords(invocation).isEmpty,
            namesFilesElsewhere(words, roots, isNamed: false, invocation), let cluster = try look(invocation),
            cluster.roots?.contains(PathRoots.usual.name) != true
        else { return roots }
        return roots.refusing(
            because: Refusal(
                message:
                    "no running worker is known to have root \(PathRoots.usual.name), and with it the files of this "
                    + "machine; nothing was submitted",
                hint: rootHint(cluster.roots ?? [])
            )
        )
    }

    /// Whether a word names a file of this machine that lies under no root that the user has named.
    private static func namesFilesElsewhere(
        _ words: [String],
        _ roots: PathRoots,
        isNamed: Bool,
        _ invocation: Invocation
    ) -> Bool {
        // What a list names is seen only when it is read, and standard input can be read once.
        if invocation[SubmitOptions.filesFrom] != nil { return true }
        return words.contains { word in
            guard !roots.isLocation(ofSource: word) else { return false }
            let path = roots.absolute(word)
            return !isNamed || roots.place(of: path) == nil && roots.place(of: path + "/") == nil
        }
    }

    /// `nil` in a dry run if the ledger does not answer, which the dry run then says by itself.
    private static func look(_ invocation: Invocation) throws -> Cluster? {
        do {
            let reachTimeout: Duration? = invocation[Question.dryRun] ? .seconds(2) : nil
            return try LedgerWork.run(invocation, reachTimeout: reachTimeout) { try await look($0) }
        } catch let error as LedgerError where invocation[Question.dryRun] && error.isTransient {
            return nil
        }
    }

    private static func look(_ ledger: any CommandLedger) async throws -> Cluster {
        var cluster = Cluster()
        guard let remote = ledger as? RemoteLedger else { return cluster }
        do {
            cluster.offer = try await remote.fileOffer()
        } catch let error as LedgerError where error.code == .coordinatorUnexpectedAnswer {
            // A coordinator of an older version does not tell. What else is wrong with it, the next request says.
        }
        do {
            let now = try await ledger.time()
            let alive = try await ledger.workers(endedSince: nil).filter { $0.state(at: now).isAlive }
            let begin = AbilityWord.root("")
            let names = alive.flatMap(\.abilities).filter { $0.hasPrefix(begin) }.map {
                String($0.dropFirst(begin.count))
            }
            if !alive.isEmpty { cluster.roots = Set(names) }
        } catch let error as LedgerError where error.code == .ledgerPermissionDenied {
            // Tenants learn nothing of workers.
            cluster.limits = try await ledger.ownLimits()?.limits
        }
        return cluster
    }

    private static func refusal(_ roots: Set<String>) -> Refusal {
        Refusal(
            message:
                "no running worker has root \(PathRoots.usual.name), so none has the files of this machine, and the "
                + "coordinator takes no uploads; nothing was submitted",
            hint: rootHint(roots) + "; to send the files, start the coordinator with --uploads ROOT"
        )
    }

    /// How to use files of this machine that workers have as well, which have these roots.
    private static func rootHint(_ roots: Set<String>) -> String {
        let known = roots.isEmpty ? "" : " (the workers have \(roots.sorted().prefix(10).joined(separator: ", ")))"
        return "for a folder that the workers have as well, use --root NAME=PATH with the name of their root\(known)"
            .printable
    }

    /// Where files go, as the start of a location.
    private static func base(_ wish: String?, _ cluster: Cluster) throws -> String {
        let offered = cluster.offer.uploads
        if let wish {
            let parts = wish.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let root = String(parts[0])
            guard offered.contains(root) else {
                let others =
                    offered.isEmpty
                    ? "it takes no uploads" : "uploads are allowed in: \(offered.joined(separator: ", "))"
                throw UsageError(
                    "\(option.form.word) \(wish.printable): the coordinator takes no files in root \(root); \(others)"
                        .printable
                )
            }
            let folder = parts.count > 1 ? parts[1] : ""
            let base = "\(root):\(folder)\(folder.isEmpty || folder.hasSuffix("/") ? "" : "/")"
            do throws(StorageError) { _ = try Location(base + "file") } catch {
                throw UsageError("\(option.form.word) \(wish.printable): \(error.detail)")
            }
            return base
        }
        if let limits = cluster.limits, let allowed = limits.writes ?? limits.reads {
            // Where the tenant may write and its jobs may read.
            let places = allowed.map { place in
                place.hasSuffix(":") || place.hasSuffix("/") ? place + usualFolder : "\(place)/\(usualFolder)"
            }
            let fitting = places.first { place in
                offered.contains(String(place.prefix { $0 != ":" }))
                    && limits.reads?.contains { place.hasPrefix($0) } ?? true
            }
            guard let fitting else {
                throw Refusal(
                    message:
                        "the coordinator takes no files where this tenant may write and its jobs may read; nothing was "
                        + "submitted",
                    hint: "ask an operator: \"sluice tenants limit\" sets where, with --writes and --reads"
                )
            }
            return fitting
        }
        // One that the workers have, if that is known.
        let root = offered.first { cluster.roots?.contains($0) ?? true } ?? offered[0]
        return "\(root):\(usualFolder)"
    }
}

/// What a submission would send, unless it is there already.
struct PlannedUpload: Sendable, Encodable {
    let to: String
    let files: Int
    let bytes: Int64
}

/// Sends the sources of jobs that lie on this machine only.
struct UploadRun: Sendable {
    /// What was sent.
    struct Summary: Sendable, Encodable {
        /// The start of all locations.
        let to: String
        let files: Int
        let bytes: Int64
        /// Those of `files` that were there already.
        let present: Int

        var words: String {
            let there =
                present == 0 ? "" : ", \(Figures.grouped(present)) of which \(Plural.past(present)) there already"
            return "\(Figures.count(files, "file")), \(Figures.bytes(bytes)), sent to \(to)\(there)".printable
        }
    }

    let places: UploadPlaces
    let coordinator: CoordinatorPlace
    private let hashing = BlockingThreads("sluice.hash")

    init(_ places: UploadPlaces, _ coordinator: CoordinatorPlace) {
        (self.places, self.coordinator) = (places, coordinator)
    }

    /// The files among `sources` that must be sent. Throws a `Refusal` if the coordinator takes no files of their length.
    func files(among sources: [Location]) throws(Refusal) -> [(location: Location, file: UploadPlaces.File)] {
        let files = sources.compactMap { source in places.file(at: source).map { (location: source, file: $0) } }
        var long = SubmitPlan.Sample()
        for (_, file) in files where file.stamp.bytes > places.mostBytes { long.add(file.path.printable) }
        guard long.count == 0 else {
            throw Refusal(
                message:
                    "\(Figures.count(long.count, "file")) longer than \(Figures.bytes(places.mostBytes)), which the "
                    + "coordinator takes at most; nothing was sent or submitted",
                details: long.lines,
                hint: "--max-upload of the coordinator sets the limit; --exclude leaves files out"
            )
        }
        return files
    }

    /// Sends the files that are not there yet, and tells `tally` of the progress.
    func send(
        _ files: [(location: Location, file: UploadPlaces.File)],
        _ tally: Latest<TransferTally>
    ) async throws -> Summary {
        let bytes = files.reduce(0) { $0 + $1.file.stamp.bytes }
        tally.value = TransferTally(files: files.count, bytes: bytes)
        try await ParallelTransfers(place: coordinator).run(files.count) { index, ledger in
            let (location, file) = files[index]
            let wasPresent = try await send(file, to: location, over: ledger) { sent in
                _ = tally.change { $0.moving[index] = min(sent, file.stamp.bytes) }
            }
            _ = tally.change { $0.end(index, bytes: file.stamp.bytes, wasPresent: wasPresent) }
        }
        return Summary(to: places.base, files: files.count, bytes: bytes, present: tally.value.present)
    }

    /// Returns whether the file was there already.
    private func send(
        _ file: UploadPlaces.File,
        to location: Location,
        over ledger: RemoteLedger,
        _ report: @escaping @Sendable (Int64) -> Void
    ) async throws -> Bool {
        let moved = Latest<Int64>(0)
        let name = file.path.printable
        do {
            let source = try open(file)
            let fingerprint = try await fingerprint(of: source, file)
            return try await ParallelTransfers.repeating(progress: { moved.value }) {
                if let present = try await Self.present(at: location, over: ledger) {
                    guard present.bytes == fingerprint.byteCount, present.digest == fingerprint.hexDigest else {
                        throw Refusal(
                            message: "cannot send \(name): another file is at \(location)".printable,
                            hint: "--upload-to names another folder"
                        )
                    }
                    return true
                }
                let sent = try await ledger.upload(
                    source.number,
                    length: fingerprint.byteCount,
                    sha256: fingerprint.sha256,
                    root: location.root,
                    path: location.path
                ) { count in
                    moved.value = count
                    report(count)
                }
                withExtendedLifetime(source) {}
                guard sent.bytes == fingerprint.byteCount, sent.digest == fingerprint.hexDigest else {
                    throw LedgerError(
                        .coordinatorUnexpectedAnswer,
                        during: "send a file",
                        "the coordinator says that it has another file than \(name)"
                    )
                }
                return false
            }
        } catch let refusal as FileRefusal {
            if refusal.code == .wrongDigest { throw Self.changed(file) }
            throw refusal.refusal("send \(name)")
        } catch let error as StorageError {
            throw Refusal(message: "cannot send \(name): \(error.detail)", hint: error.hint)
        }
    }

    /// What is there already; `nil` also where the coordinator cannot read what it takes: then the file is sent, and the
    /// coordinator compares.
    private static func present(at location: Location, over ledger: RemoteLedger) async throws -> UploadedFile? {
        do {
            return try await ledger.uploadedFile(root: location.root, path: location.path)
        } catch let refusal as FileRefusal where refusal.code == .unreadable {
            return nil
        }
    }

    private func open(_ file: UploadPlaces.File) throws -> SharedDescriptor {
        let source = try SourceFile.open(file.path)
        guard source.byteCount == file.stamp.bytes, source.modifiedAt == file.stamp.modified else {
            throw Self.changed(file)
        }
        return try SharedDescriptor(copying: source.descriptor)
    }

    private static func changed(_ file: UploadPlaces.File) -> Refusal {
        Refusal(
            message: "\(file.path.printable) was changed while files were sent; nothing was submitted",
            hint: "run the command again when nothing writes to it"
        )
    }

    /// The length and the digest. Reading blocks, so a thread of its own does it.
    private func fingerprint(of source: SharedDescriptor, _ file: UploadPlaces.File) async throws -> Fingerprint {
        let isStopped = Latest(false)
        let found: Fingerprint? = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                hashing.run {
                    let found = Fingerprint.ofOpenFile(source.number, while: { !isStopped.value })
                    continuation.resume(returning: found)
                }
            }
        } onCancel: {
            isStopped.value = true
        }
        try Task.checkCancellation()
        guard let found else { throw Refusal(message: "cannot read \(file.path.printable)") }
        guard found.byteCount == file.stamp.bytes else { throw Self.changed(file) }
        return found
    }
}
