import Conversion
import FoundationEssentials
import Ledger

/// What the ledger knows of an excerpt: the latest job that makes it.
struct Excerpt: Sendable {
    let summary: JobSummary
    let recipe: Recipe
    /// Why it could not be made.
    let failure: Failure?
    /// What no running worker has that it needs.
    let lacking: [String]

    /// `nil` if this build cannot read the recipe.
    init?(_ story: JobStory) {
        // `try?`: a coordinator of a newer version has asked for it.
        guard let recipe = try? Recipe(json: story.recipe) else { return nil }
        (self.recipe, summary) = (recipe, story.summary)
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

    /// The first file, which is the sound or the peaks of all of it, and the peaks; `nil` if they are not available.
    func files(_ downloads: Set<String>) -> (first: PageLink, peaks: PageLink?)? {
        let outputs = PublishedOutputs(job: summary, recipe: recipe, downloads: downloads)
        guard let first = outputs.file(0)?.link else { return nil }
        return (first, outputs.peaks.flatMap { outputs.file($0)?.link })
    }
}

/// The excerpts of a job that a page shows, or has made.
struct JobExcerpts: Sendable {
    let plan: ExcerptPlan
    private(set) var found: [ExcerptPlan.Side: Excerpt] = [:]
    /// The peaks of the whole sound.
    private(set) var whole: Excerpt?

    init(_ plan: ExcerptPlan) { self.plan = plan }

    /// Reads what the ledger has of them; and for those who may ask for it, why some could not be made.
    static func read(
        _ plan: ExcerptPlan,
        from ledger: JobLedger,
        mayFindEarlier: Bool
    ) async throws -> JobExcerpts {
        var excerpts = JobExcerpts(plan)
        let locations = plan.sides.map(plan.location) + [plan.wholeLocation].compactMap { $0 }
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
        excerpts.take(from: stories)
        return excerpts
    }

    /// Takes the latest of the jobs for each excerpt.
    ///
    /// Others may write at these places, too. A job with another recipe makes another sound there.
    mutating func take(from stories: [JobStory]) {
        let made = stories.compactMap(Excerpt.init)
        func latest(_ recipe: Recipe?) -> Excerpt? {
            // `try?`: it could not have been submitted. The times of a recipe may be written in other words in its job.
            guard let asked = recipe.flatMap({ try? Recipe(json: $0.json()) }) else { return nil }
            return made.filter { $0.recipe == asked }.max { $0.summary.job < $1.summary.job }
        }
        for side in plan.sides { found[side] = latest(plan.recipe(of: side)) }
        whole = latest(plan.wholeRecipe)
    }

    /// The sides that are neither there nor being made.
    func missing(_ downloads: Set<String>) -> [ExcerptPlan.Side] {
        plan.sides.filter { lacks(found[$0], downloads) }
    }

    private func lacks(_ excerpt: Excerpt?, _ downloads: Set<String>) -> Bool {
        excerpt.map { !$0.isAwaited && $0.files(downloads) == nil } ?? true
    }

    /// Whether the sound, whose length the job does not tell, turned out to be longer than what is decoded of such a one.
    var isTooLong: Bool {
        let code = FailureCode.decodedSecondsExceeded.rawValue
        return !plan.hasLength && plan.sides.contains { found[$0]?.failure?.code == code }
    }

    /// The recipes of what is missing; of all that is not being made if they are to be made `again`.
    func wanted(_ downloads: Set<String>, again: Bool) -> [Recipe] {
        func isUnderWay(_ excerpt: Excerpt?) -> Bool { excerpt?.isAwaited == true }
        let sides = again ? plan.sides.filter { !isUnderWay(found[$0]) } : missing(downloads)
        // All of the sound is decoded for it, and it would fail again with each part that is asked for.
        let lacksWhole = lacks(whole, downloads) && whole?.summary.state != .failed
        let isWholeWanted = again ? !isUnderWay(whole) : lacksWhole
        return sides.map(plan.recipe(of:)) + (isWholeWanted ? [plan.wholeRecipe].compactMap { $0 } : [])
    }

    var jobs: [Int64] {
        (plan.sides.map { found[$0] } + [whole]).compactMap { $0?.summary.job }
    }
}
