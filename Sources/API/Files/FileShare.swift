import Conversion
import HTTPServer
import Ledger
import Storage
import Synchronization
import System

/// The roots whose files programs may send and get, and all calls to these files.
///
/// The calls run on threads of their own. A root that does not answer is given up until it does, so it holds up no request
/// to another one.
final class FileShare: Sendable {
    /// What a coordinator offers.
    struct Offer: Sendable {
        var uploads = OpeningRoots([])
        var downloads = OpeningRoots([])
        /// Where submitters look for sources.
        var sources = OpeningRoots([])
        /// Bytes of one upload.
        var mostBytes: Int64 = 0
    }

    private struct State {
        /// Uploads under way, by caller.
        var uploads: [String: Int] = [:]
        /// Downloads under way, by caller.
        var downloads: [String: Int] = [:]
        /// Folders that are being listed.
        var listings = 0
        /// Calls under way, by root.
        var calls: [String: Int] = [:]
        /// Since when a root has been asked whether it answers.
        var askedSince: [String: ContinuousClock.Instant] = [:]
        /// Roots that do not answer.
        var silent: Set<String> = []
        /// Digests that were computed, by the state of the file.
        var known: [ServedFile.Version: Fingerprint] = [:]
        /// Digests of large files that are being computed.
        var digesting = 0

        /// Whether a call is under way.
        var isAwaited: Bool { calls.values.contains { $0 > 0 } }
    }

    let mostBytes: Int64
    private let uploads: OpeningRoots
    private let downloads: OpeningRoots
    private let sources: OpeningRoots
    private let calls = FileCalls()
    private let questions = BlockingThreads("roots")
    private let state = Mutex(State())
    private let watch = Mutex<Task<Void, Never>?>(nil)
    /// Given when a call begins after a time without any.
    private let begins = WakeSignal()

    static let mostUploads = 128
    /// Uploads at once of one caller, so that others get their turn.
    static let mostUploadsEach = 64
    static let mostDownloads = 256
    /// As of uploads.
    static let mostDownloadsEach = 64
    /// Folders that are listed at once. Most take a millisecond.
    static let mostListings = 8
    private static let mostDigesting = 2
    private static let mostKnown = 10_000
    /// How long a root may take for an answer.
    private static let patience: Duration = .seconds(10)

    init(_ offer: Offer) {
        mostBytes = offer.mostBytes
        (uploads, downloads, sources) = (offer.uploads, offer.downloads, offer.sources)
        let task = Task { [weak self, begins] in
            while !Task.isCancelled {
                let seen = begins.count
                guard let isNeeded = self?.needsWatch else { return }
                guard isNeeded else {
                    await begins.wait(since: seen)
                    continue
                }
                // `try?`: the only error is that this task is cancelled.
                guard (try? await Task.sleep(for: .seconds(2), clock: .continuous)) != nil else { return }
                self?.listen()
            }
        }
        watch.withLock { $0 = task }
    }

    deinit { watch.withLock { $0?.cancel() } }

    /// Whether a call may wait for a root that does not answer, or for its return.
    private var needsWatch: Bool { state.withLock { $0.isAwaited || !$0.silent.isEmpty } }

    func stop() {
        watch.withLock { $0?.cancel() }
        calls.stop()
    }

    /// The roots, whether their file systems answer or not.
    var offer: FileOffer {
        var offer = FileOffer()
        (offer.uploads, offer.downloads) = (uploads.names, downloads.names)
        offer.mostUploadBytes = mostBytes
        return offer
    }

    func root(forUploads name: String) throws(Problem) -> StorageRoot {
        try Self.root(name, of: uploads, or: "takes no uploads")
    }

    func root(forDownloads name: String) throws(Problem) -> StorageRoot {
        try Self.root(name, of: downloads, or: "serves no files")
    }

    /// The roots in which submitters may look, sorted.
    var sourceRoots: [String] { sources.names }

    func root(forSources name: String) throws(Problem) -> StorageRoot {
        try Self.root(name, of: sources, or: "cannot be looked into")
    }

    private static func root(_ name: String, of roots: OpeningRoots, or lack: String) throws(Problem) -> StorageRoot {
        if let root = roots.root(name) { return root }
        let names = roots.names
        if names.contains(name) { throw silence(of: name) }
        let others = names.isEmpty ? "" : "; roots that can be used: \(names.joined(separator: ", "))"
        throw Problem(.notServed, "the root \(name) \(lack) here\(others)")
    }

    private static func silence(of root: String) -> Problem {
        Problem(.storageSilent, "the file system of the root \(root) does not answer")
    }

    // MARK: - Calls

    /// Runs `body`, which touches files below the root, on a thread of its own. `late` undoes what it did if the root was
    /// given up meanwhile.
    func run<Value: Sendable>(
        in root: String,
        late: @escaping @Sendable (Value) -> Void = { _ in },
        _ body: @escaping @Sendable () throws(StorageError) -> Value
    ) async throws -> Value {
        let isFirst = state.withLock { state in
            defer { state.calls[root, default: 0] += 1 }
            return !state.isAwaited
        }
        if isFirst { begins.send() }
        defer { state.withLock { $0.calls[root, default: 1] -= 1 } }
        let result = await calls.run(in: [root]) {
            do throws(StorageError) { return Result<Value, StorageError>.success(try body()) } catch {
                return .failure(error)
            }
        } late: { result in
            if case .success(let value) = result { late(value) }
        }
        guard let result else { throw Self.silence(of: root) }
        return try result.get()
    }

    /// Runs `body` at some time, and does not wait for it.
    func leave(in root: String, _ body: @escaping @Sendable () -> Void) { calls.leave(in: [root], body) }

    /// Asks the roots of calls under way whether they answer.
    private func listen() {
        let now = ContinuousClock.now
        let (asked, lost) = state.withLock { state -> ([String], [String]) in
            var (asked, lost): ([String], [String]) = ([], [])
            for (root, count) in state.calls where count > 0 || state.silent.contains(root) {
                if let since = state.askedSince[root] {
                    if now - since > Self.patience, state.silent.insert(root).inserted { lost.append(root) }
                } else {
                    state.askedSince[root] = now
                    asked.append(root)
                }
            }
            return (asked, lost)
        }
        for name in lost { calls.silence(name) }
        for name in asked {
            guard let root = uploads.root(name) ?? downloads.root(name) ?? sources.root(name) else { continue }
            questions.run { [self] in
                root.awaitAnswer()
                let wasSilent = state.withLock { state in
                    state.askedSince[name] = nil
                    return state.silent.remove(name) != nil
                }
                if wasSilent { calls.resume(name) }
            }
        }
    }

    // MARK: - Limits

    /// Takes one of the places for uploads. `end(uploadOf:)` gives it back.
    func begin(uploadOf caller: String) throws(Problem) {
        let isTaken = state.withLock { state in
            let own = state.uploads[caller, default: 0]
            guard own < Self.mostUploadsEach, state.uploads.values.reduce(0, +) < Self.mostUploads else { return false }
            state.uploads[caller] = own + 1
            return true
        }
        guard isTaken else { throw Problem(.overloaded, "too many uploads at once") }
    }

    func end(uploadOf caller: String) {
        state.withLock { state in
            let left = state.uploads[caller, default: 1] - 1
            state.uploads[caller] = left > 0 ? left : nil
        }
    }

    // MARK: - Listings

    /// Has a folder of the root listed.
    func list(
        in root: StorageRoot,
        _ body: @escaping @Sendable (StorageRoot) throws(StorageError) -> FolderNames
    ) async throws -> FolderNames {
        let isTaken = state.withLock { state in
            guard state.listings < Self.mostListings else { return false }
            state.listings += 1
            return true
        }
        guard isTaken else { throw Problem(.overloaded, "too many folders are being listed at once") }
        defer { state.withLock { $0.listings -= 1 } }
        return try await run(in: root.name) { () throws(StorageError) in try body(root) }
    }

    // MARK: - Downloads

    /// Opens a published output for a caller. `end(_:in:for:)` closes it.
    func open(_ location: Location, in root: StorageRoot, for caller: String) async throws -> ServedFile {
        let isTaken = state.withLock { state in
            let own = state.downloads[caller, default: 0]
            guard own < Self.mostDownloadsEach, state.downloads.values.reduce(0, +) < Self.mostDownloads else {
                return false
            }
            state.downloads[caller] = own + 1
            return true
        }
        guard isTaken else { throw Problem(.overloaded, "too many downloads at once") }
        do {
            return try await run(in: root.name, late: { $0.close() }) { () throws(StorageError) in
                try ServedFile.open(location, in: root)
            }
        } catch {
            end(downloadOf: caller)
            throw error
        }
    }

    /// Closes a file that `open` returned.
    func end(_ file: ServedFile, in root: String, for caller: String) {
        end(downloadOf: caller)
        leave(in: root) { file.close() }
    }

    /// A part of an open file as the body of an answer, which closes the file.
    func feed(_ file: ServedFile, _ part: Range<Int64>, in root: String, for caller: String) -> FileFeed {
        FileFeed(part) { [self] offset, count in
            try await run(in: root) { () throws(StorageError) in try file.read(count, at: offset) }
        } onEnd: { [self] in
            end(file, in: root, for: caller)
        }
    }

    private func end(downloadOf caller: String) {
        state.withLock { state in
            let left = state.downloads[caller, default: 1] - 1
            state.downloads[caller] = left > 0 ? left : nil
        }
    }

    /// Whether an open file has the bytes that a job has published.
    ///
    /// A file of some size whose mark says so is believed. The bytes of others are read once for each state of the file.
    func holds(
        _ file: ServedFile,
        in root: String,
        _ fingerprint: Fingerprint,
        job: Int64,
        publishedAt: Int64
    ) async throws -> Bool {
        guard file.version.byteCount == fingerprint.byteCount else { return false }
        if let known = state.withLock({ $0.known[file.version] }) { return known == fingerprint }
        if fingerprint.byteCount > Self.cheapBytes {
            let isMarked = try await run(in: root) { () throws(StorageError) in
                file.isMarked(job: job, fingerprint, publishedAt: publishedAt)
            }
            if isMarked { return true }
        }
        return try await self.fingerprint(of: file, in: root) == fingerprint
    }

    /// Length and SHA-256 of an open file, whose bytes are read once for each state of the file.
    func fingerprint(of file: ServedFile, in root: String) async throws -> Fingerprint {
        if let known = state.withLock({ $0.known[file.version] }) { return known }
        // A small file is read at once, without a place.
        let places = file.version.byteCount > Self.cheapBytes ? 1 : 0
        let isTurn = state.withLock { state in
            guard state.digesting + places <= Self.mostDigesting else { return false }
            state.digesting += places
            return true
        }
        guard isTurn else { throw Problem(.overloaded, "too many large files are being compared with their digests") }
        defer { state.withLock { $0.digesting -= places } }
        let found = try await run(in: root) { () throws(StorageError) in try file.fingerprint() }
        state.withLock { state in
            if state.known.count >= Self.mostKnown { state.known = [:] }
            state.known[file.version] = found
        }
        return found
    }

    /// Up to this size, reading a file costs less than being wrong.
    private static let cheapBytes: Int64 = 32 << 20
}
