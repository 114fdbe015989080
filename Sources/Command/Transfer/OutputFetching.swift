import API
import Console
import Conversion
import FoundationEssentials
import Glibc
import Ledger
import LedgerClient
import Storage
import System

/// Brings outputs of jobs from a coordinator to a folder of this machine, as `wait --fetch DIR` does.
///
/// An output gets the path below its root as its path below the folder. It appears whole or not at all, with the digest
/// that its job recorded; whatever the ledger or the coordinator says, nothing is written outside of the folder.
struct OutputFetching: Sendable {
    static let option = Option<String>(
        "fetch",
        .text.named("DIR").offering(.files),
        "bring the outputs to the folder DIR, over HTTP",
        in: .destination
    )

    /// The counts of a run, which are also its record in JSON.
    struct Summary: Sendable, Encodable {
        let fetch: String
        /// Outputs that are in the folder now, and their bytes; `present` of them were there before.
        var files = 0
        var bytes: Int64 = 0
        var present = 0
        /// Outputs whose place another file has, which was left alone.
        var kept = 0
        var failed = 0

        init(_ folder: String) { fetch = folder }
    }

    /// An output to fetch.
    private struct Item: Sendable {
        let job: Int64
        /// Counted from 1.
        let output: Int
        /// Its location, as its job has it.
        let name: String
        let target: Location
        let fingerprint: Fingerprint
    }

    /// Why an output cannot be fetched.
    private struct Refused: Error {
        let why: String
    }

    /// What became of one output.
    private enum Outcome: Sendable {
        case fetched(FetchedFile.Ending, bytes: Int64)
        case failed(String)
    }

    /// As the user wrote it.
    private let folder: String
    private let coordinator: CoordinatorPlace
    private let policy: Recipe.ConflictPolicy
    private let calls = BlockingThreads("sluice.fetch")

    /// `nil` if the user asks for no outputs.
    init?(_ invocation: Invocation, onConflict policy: Recipe.ConflictPolicy) throws {
        guard let folder = invocation[Self.option] else { return nil }
        guard let coordinator = try LedgerOptions.coordinator(invocation) else {
            throw UsageError(
                "\(Self.option.form.word) needs a coordinator that serves outputs",
                hint: "name it with --url, SLUICE_URL or a context; on a machine with the roots, the outputs are there"
            )
        }
        (self.folder, self.coordinator, self.policy) = (folder, coordinator, policy)
    }

    // MARK: - Before the jobs

    /// Throws a `Refusal` if the coordinator does not serve outputs of all these roots, or of any if none are known; or if the
    /// folder cannot be made.
    func check(roots: Set<String> = []) async throws {
        let served = Set(try await RemoteLedger(coordinator).fileOffer().downloads)
        let lacking = roots.subtracting(served).sorted()
        guard lacking.isEmpty, !served.isEmpty else {
            let what = lacking.isEmpty ? "no outputs" : "no outputs of root \(lacking.joined(separator: ", "))"
            let others = served.isEmpty ? "" : "; it serves \(served.sorted().joined(separator: ", "))"
            throw Refusal(
                message: "the coordinator serves \(what)\(others)".printable,
                hint: "start the coordinator with --downloads \(lacking.first?.printable ?? "ROOT")"
            )
        }
        _ = try opened()
    }

    /// The folder, which is made if it is missing.
    private func opened() throws -> StorageRoot {
        var path = ""
        for (index, name) in folder.split(separator: "/", omittingEmptySubsequences: false).enumerated() {
            path += index == 0 ? String(name) : "/\(name)"
            guard !name.isEmpty, mkdir(path, 0o777) != 0, errno != EEXIST else { continue }
            // That of a folder which exists on a file system that cannot be written is not EEXIST everywhere.
            let number = errno
            if FileFacts.of(path: path, followingLinks: true)?.kind == .folder { continue }
            throw Refusal(message: "cannot make the folder \(path.printable): \(systemText(number))")
        }
        do throws(StorageError) { return try StorageRoot.open(name: Self.rootName, path: folder) } catch {
            throw Refusal(message: error.failure.message, hint: error.hint)
        }
    }

    private static let rootName = "fetched"

    // MARK: - Fetching

    /// Fetches the outputs of completed jobs, which `page` gives in parts until one is empty. Newer jobs come first: of
    /// several outputs at one place, the first is the present one.
    func run(
        _ tally: Latest<TransferTally>,
        isWanted: @escaping @Sendable (String) -> Bool = { _ in true },
        _ page: () async throws -> [JobSummary]
    ) async throws -> (summary: Summary, failures: SubmitPlan.Sample) {
        let root = try opened()
        var (summary, failures) = (Summary(folder), SubmitPlan.Sample())
        // Where outputs are put, and which.
        var taken: [String: String] = [:]
        while true {
            let jobs = try await page()
            if jobs.isEmpty { return (summary, failures) }
            let completed = jobs.filter { $0.state == .completed && $0.publishedFiles.contains { $0 != nil } }
            var items: [Item] = []
            // In the order of the page, so that it does not depend on the speed of answers which job has a place.
            for (job, story) in zip(completed, try await stories(of: completed)) {
                // `try?`: a recipe of a later version says where its outputs are in words that this build does not know.
                guard let story, let recipe = try? Recipe(json: story.recipe) else {
                    summary.failed += 1
                    failures.add("job \(job.job): it does not say where its outputs are")
                    continue
                }
                for (place, file) in story.summary.publishedFiles.enumerated() {
                    guard let file, recipe.outputs.indices.contains(place) else { continue }
                    let name = recipe.outputs[place].location
                    guard isWanted(name) else { continue }
                    do throws(Refused) {
                        let item = try Self.item(place + 1, of: job.job, name, file, &taken)
                        if let item { items.append(item) }
                    } catch {
                        summary.failed += 1
                        failures.add("\(name): \(error.why)".printable)
                    }
                }
            }
            for outcome in try await fetch(items, to: root, tally) {
                switch outcome {
                case .failed(let why):
                    summary.failed += 1
                    failures.add(why)
                case .fetched(.kept, _): summary.kept += 1
                case .fetched(let ending, let bytes):
                    summary.files += 1
                    summary.bytes += bytes
                    if ending == .present { summary.present += 1 }
                }
            }
        }
    }

    /// The stories of jobs, in their order.
    private func stories(of jobs: [JobSummary]) async throws -> [JobStory?] {
        let found = Latest([JobStory?](repeating: nil, count: jobs.count))
        try await ParallelTransfers(place: coordinator).run(jobs.count) { index, ledger in
            let job = jobs[index].job
            let story = try await ParallelTransfers.repeating(progress: { 0 }) { try await ledger.story(of: job) }
            _ = found.change { $0[index] = story }
        }
        return found.value
    }

    /// The output to fetch; `nil` if a later job has made the same one again.
    private static func item(
        _ output: Int,
        of job: Int64,
        _ name: String,
        _ file: PublishedFile,
        _ taken: inout [String: String]
    ) throws(Refused) -> Item? {
        let target: Location
        do throws(StorageError) {
            target = try Location("\(rootName):\(try Location(name).path)")
        } catch {
            throw Refused(why: error.detail)
        }
        guard let fingerprint = Fingerprint(hexDigest: file.digest, byteCount: file.bytes) else {
            throw Refused(why: "its job recorded no digest")
        }
        if let other = taken[target.path] {
            if other != name { throw Refused(why: "\(other) has the same path") }
            return nil
        }
        taken[target.path] = name
        return Item(job: job, output: output, name: name, target: target, fingerprint: fingerprint)
    }

    /// Fetches outputs, several at a time.
    private func fetch(
        _ items: [Item],
        to root: StorageRoot,
        _ tally: Latest<TransferTally>
    ) async throws -> [Outcome] {
        _ = tally.change { tally in
            tally.files += items.count
            tally.bytes += items.reduce(0) { $0 + $1.fingerprint.byteCount }
        }
        let outcomes = Latest<[Outcome]>([])
        try await ParallelTransfers(place: coordinator).run(items.count) { index, ledger in
            let item = items[index]
            let outcome: Outcome
            do {
                let ending = try await fetch(
                    item,
                    in: root,
                    over: ledger,
                    begin: { present in _ = tally.change { $0.begin(index, present: present) } },
                    report: { moved in _ = tally.change { $0.moving[index] = moved } }
                )
                let bytes = item.fingerprint.byteCount
                outcome = .fetched(ending, bytes: bytes)
                _ = tally.change { $0.end(index, bytes: bytes, wasPresent: ending == .present) }
            } catch let refusal as FileRefusal {
                outcome = .failed("\(item.name): \(refusal.message)".printable)
            } catch let error as StorageError {
                outcome = .failed("\(item.name): \(error.detail)".printable)
            }
            if case .failed = outcome { _ = tally.change { $0.moving[index] = nil } }
            _ = outcomes.change { $0.append(outcome) }
        }
        return outcomes.value
    }

    /// Tells `begin` how many bytes an earlier fetch has left, and `report` how many there are then.
    private func fetch(
        _ item: Item,
        in root: StorageRoot,
        over ledger: RemoteLedger,
        begin: (Int64) -> Void,
        report: @escaping @Sendable (Int64) -> Void
    ) async throws -> FetchedFile.Ending {
        let policy = policy
        let opening = try await blocking { () throws(StorageError) in
            try FetchedFile.open(for: item.target, in: root, item.fingerprint, onConflict: policy)
        }
        let file: FetchedFile
        switch opening {
        case .present: return .present
        case .kept: return .kept
        case .opened(let opened): file = opened
        }
        defer { file.leave() }
        begin(file.byteCount)
        // What an earlier fetch left may be damaged: then all of it is fetched once more.
        for _ in 0..<2 {
            try await ParallelTransfers.repeating(progress: { file.byteCount }) {
                guard !file.isWhole else { return }
                let isTaken = try await ledger.output(
                    item.output,
                    of: item.job,
                    digest: item.fingerprint.hexDigest,
                    from: file.byteCount,
                    begin: { file.begin(at: $0) },
                    take: { bytes in
                        let isWritten = file.write(bytes)
                        report(file.byteCount)
                        return isWritten
                    }
                )
                if let failure = file.failure { throw failure }
                guard isTaken else { throw Self.misfit("it sends more than the output, or another part") }
                // As if the connection had ended.
                guard file.isWhole else {
                    throw LedgerError(.ledgerConnectionLost, during: "get an output", "the answer ended early")
                }
            }
            let ending = try await blocking { () throws(StorageError) in try file.publish() }
            if ending != .wrongDigest { return ending }
        }
        throw Self.misfit("what it sends does not have the digest that the job recorded")
    }

    private static func misfit(_ detail: String) -> StorageError {
        StorageError(.sourceIO, at: .write, "get the output", detail)
    }

    /// Runs what blocks on a thread of its own.
    private func blocking<Value: Sendable>(
        _ body: @escaping @Sendable () throws(StorageError) -> Value
    ) async throws -> Value {
        let result: Result<Value, StorageError> = await withCheckedContinuation { continuation in
            calls.run {
                do throws(StorageError) {
                    continuation.resume(returning: .success(try body()))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }
}

extension JobSummary {
    /// The files that it made, in the order of its outputs; `nil` for one that was left alone.
    var publishedFiles: [PublishedFile?] {
        [digest.flatMap { digest in bytes.map { PublishedFile(digest: digest, bytes: $0) } }] + further
    }
}
