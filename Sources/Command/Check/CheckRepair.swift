import Console
import Conversion
import Ledger
import Storage
import System

/// Submits again the jobs whose outputs are missing or damaged.
struct CheckRepair: Sendable {
    /// Only the part of a finding that the repair needs: there may be a million of them.
    struct Item: Sendable {
        let job: Int64
        let isMissing: Bool
        let canBeRepaired: Bool

        init(_ finding: OutputFinding) {
            job = finding.job
            isMissing = finding.kind == .missing
            canBeRepaired = finding.kind.canBeRepaired && !finding.isUnderWay
        }
    }

    let roots: PathRoots
    let findings: [Item]

    /// Recipes held in memory at one time.
    private static let chunk = 5_000

    private struct Record: Encodable {
        let repair: Int64
        let jobs: Int
        let queue: String
    }

    /// Returns `nil` when it has submitted what it could, otherwise the exit code of a refused question.
    func run(_ page: CheckPage, _ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode? {
        var seen: Set<Int64> = []
        // A job makes all its outputs again, however many are damaged.
        let items = findings.filter { $0.canBeRepaired && seen.insert($0.job).inserted }
        let rest = findings.count { !$0.canBeRepaired }
        if rest > 0 {
            let those = Figures.subject(rest, "output")
            console.warn("\(those) not repaired: a job is in progress, or the path is not a readable file")
        }
        guard !items.isEmpty else { return nil }
        let what = "submit \(Figures.count(items.count, "job")) to recreate these outputs"
        guard try Question.agrees(to: what, invocation, console) else {
            console.say("nothing was submitted")
            return .failure
        }
        let bar = CountBar(of: items.count, "job", outlet: console.talk)
        let done = Latest(0)
        let batches = try LedgerWork.runOnDatabase(invocation, onTick: { bar.show(done.value) }) { ledger in
            var batches: [(receipt: SubmissionReceipt, queue: String)] = []
            for start in stride(from: 0, to: items.count, by: Self.chunk) {
                let chunk = Array(items[start..<min(start + Self.chunk, items.count)])
                batches += try await submit(chunk, ledger)
                done.value += chunk.count
            }
            return batches
        }
        bar.clear()
        for (receipt, queue) in batches {
            if page.isJSON {
                let record = Record(repair: receipt.batch, jobs: receipt.jobCount, queue: queue)
                try console.print(JSONText.line(record))
            } else {
                try console.print("batch \(receipt.batch) \"repair\"  \(Figures.count(receipt.jobCount, "job"))")
            }
        }
        return nil
    }

    /// The queue and priority that the jobs of one submission share.
    private struct Lane: Hashable {
        let queue: String
        let priority: Int
    }

    private func submit(
        _ items: [Item],
        _ ledger: JobLedger
    ) async throws -> [(receipt: SubmissionReceipt, queue: String)] {
        let missing = Set(items.filter(\.isMissing).map(\.job))
        var stories: [JobStory] = []
        for start in stride(from: 0, to: items.count, by: 500) {
            stories += try await ledger.stories(of: items[start..<min(start + 500, items.count)].map(\.job))
        }
        let recipes = try stories.map { try Recipe(json: $0.recipe) }
        let earlier = try await ledger.earlierJobs(at: recipes.map { $0.outputs.first?.location ?? "" })
        var lanes: [Lane: [JobRequest]] = [:]
        for (place, story) in stories.enumerated() {
            var recipe = recipes[place]
            guard !recipe.outputs.isEmpty else { continue }
            // Of several outputs, others may still exist.
            if recipe.outputs.count > 1 || !missing.contains(story.summary.job) {
                for index in recipe.outputs.indices { recipe.outputs[index].onConflict = .replace }
            }
            let request = JobRequest(
                recipe,
                cost: Int32(clamping: story.cost),
                // The ledger itself adds the recipe versions that a worker must read.
                needs: story.needs.filter { !$0.hasPrefix("recipe:") },
                maxAttempts: Int16(clamping: story.summary.maxAttempts),
                labels: story.labels,
                // That of a book is made of all its files.
                stamp: recipe.soundSources.count > 1
                    ? earlier[place]?.stamp : recipe.sources.first.flatMap { stamp(of: $0.location) },
                // As first requested, whatever a retry has changed since.
                work: earlier[place]?.work
            )
            lanes[Lane(queue: story.summary.queue, priority: story.summary.priority), default: []].append(request)
        }
        var receipts: [(receipt: SubmissionReceipt, queue: String)] = []
        for (lane, requests) in lanes.sorted(by: { ($0.key.queue, $0.key.priority) < ($1.key.queue, $1.key.priority) })
        {
            // The key is a digest of the findings, so two repairs of the same outputs at the same time submit them
            // once.
            var digest = RunningFingerprint()
            digest.add("\(lane.queue) \(lane.priority)")
            for item in items { digest.add("\(item.job) \(item.isMissing)") }
            let submission = Submission(
                queue: lane.queue,
                label: "repair",
                key: "repair:\(digest.finish().hexDigest)",
                priority: Int32(clamping: lane.priority)
            )
            receipts.append((try await ledger.submit(submission, requests), lane.queue))
        }
        return receipts
    }

    private func stamp(of source: String) -> SourceStamp? {
        // A source that is not a location, such as one from another version, has no size and time here.
        guard let location = try? Location(source), let path = roots.path(of: location),
            let facts = FileFacts.of(path: path, followingLinks: true)
        else { return nil }
        return SourceStamp(bytes: facts.byteCount, modified: facts.modifiedAt)
    }
}
