import Conversion
import FoundationEssentials
import Ledger

/// What the ledger knows of an excerpt: the latest job that makes it.
struct Excerpt: Sendable {
    let side: ExcerptPlan.Side
    let summary: JobSummary
    let recipe: Recipe
    /// Why it could not be made.
    let failure: Failure?
    /// What no running worker has that it needs.
    let lacking: [String]

    /// `nil` if this build cannot read the recipe.
    init?(_ side: ExcerptPlan.Side, _ story: JobStory) {
        // `try?`: a coordinator of a newer version has asked for it.
        guard let recipe = try? Recipe(json: story.recipe) else { return nil }
        (self.side, self.recipe, summary) = (side, recipe, story.summary)
        failure = summary.state == .failed ? story.attempts.last?.failure : nil
        lacking = story.waitingFor == .unable ? story.missing.isEmpty ? story.needs : story.missing : []
    }

    /// Whether it is still being made.
    var isAwaited: Bool {
        switch summary.state {
        case .waiting, .delayed, .running, .publishing: true
        case .completed, .skipped, .failed, .accepted, .cancelled: false
        }
    }

    /// The sound and its peaks; `nil` if they cannot be had.
    func files(_ downloads: Set<String>) -> (sound: PageLink, peaks: PageLink?)? {
        let outputs = PublishedOutputs(job: summary, recipe: recipe, downloads: downloads)
        guard let sound = outputs.file(0)?.link else { return nil }
        return (sound, outputs.peaks.flatMap { outputs.file($0)?.link })
    }
}

/// The excerpts of a job that a page shows, or has made.
struct JobExcerpts: Sendable {
    let plan: ExcerptPlan
    private(set) var found: [ExcerptPlan.Side: Excerpt] = [:]

    init(_ plan: ExcerptPlan) { self.plan = plan }

    /// Reads what the ledger has of them; and for those who may ask for it, why some could not be made.
    static func read(
        _ plan: ExcerptPlan,
        from ledger: JobLedger,
        mayFindEarlier: Bool
    ) async throws -> JobExcerpts {
        var excerpts = JobExcerpts(plan)
        let locations = plan.sides.map(plan.location)
        let oldest = try await ledger.time().addingTimeInterval(-ExcerptPlan.kept)
        let makers = try await ledger.makers(
            of: locations.map {
                RecordedOutput(job: 0, source: "", destination: $0, first: $0, bytes: 0, digest: "")
            }
        )
        let latest = makers.map { makers in
            makers.filter { $0.endedAt.map { $0 > oldest } ?? true }.max { $0.job < $1.job }?.job
        }
        var stories = try await ledger.stories(of: latest.compactMap { $0 })
        let unmade = locations.indices.filter { latest[$0] == nil }
        if mayFindEarlier, !unmade.isEmpty {
            let earlier = try await ledger.earlierJobs(at: unmade.map { locations[$0] })
            stories += try await ledger.stories(of: earlier.compactMap { $0?.state == .failed ? $0?.job : nil })
        }
        for side in plan.sides { excerpts.take(side, from: stories) }
        return excerpts
    }

    /// Takes the latest of the jobs that make the excerpt of a side.
    mutating func take(_ side: ExcerptPlan.Side, from stories: [JobStory]) {
        let location = plan.location(of: side)
        found[side] = stories.compactMap { Excerpt(side, $0) }.filter { $0.recipe.outputs.first?.location == location }
            .max { $0.summary.job < $1.summary.job }
    }

    /// The sides that are neither there nor being made.
    func missing(_ downloads: Set<String>) -> [ExcerptPlan.Side] {
        plan.sides.filter { side in found[side].map { !$0.isAwaited && $0.files(downloads) == nil } ?? true }
    }

    var jobs: [Int64] { plan.sides.compactMap { found[$0]?.summary.job } }
}
