import Conversion
import Ledger
import LedgerClient
import Storage

/// Finds books whose files were sent before in another state. The place of a file that is sent follows from its stamp, and the
/// stamp of a job tells that of its first file only; where the others were, the recipe of the earlier job says.
struct SentBooks: Sendable {
    let plan: SubmitPlan
    let uploads: UploadPlaces

    /// So many jobs are asked for at the same time.
    private static let together = 8

    /// The sources of earlier jobs for the same work, by the places of the items in the plan: of those items whose files
    /// behind the first one have changed since. `earlier` is the latest job of each destination.
    func earlierSources(_ earlier: EarlierJobList, _ ledger: any CommandLedger) async throws -> [Int: [Location]] {
        var wanted: [(place: Int, job: Int64, first: Location)] = []
        var numbers = WorkNumbers()
        for (place, job) in earlier.enumerated() {
            let item = plan.items[place]
            guard let job, item.book != nil, item.sources.contains(where: { uploads.file(at: $0) != nil }),
                let first = first(of: item, job)
            else { continue }
            let same = plan.recipe(item, from: [first] + item.sources.dropFirst())
            if try numbers.number(of: same) != job.work { wanted.append((place, job.job, first)) }
        }
        var found: [Int: [Location]] = [:]
        for start in stride(from: 0, to: wanted.count, by: Self.together) {
            let part = wanted[start..<min(start + Self.together, wanted.count)]
            let recipes = try await withThrowingTaskGroup(of: (Int, Recipe?).self) { group in
                for (place, job, _) in part {
                    group.addTask {
                        // `try?`: a recipe that this release cannot read is that of other work.
                        (place, try await ledger.story(of: job).flatMap { try? Recipe(json: $0.recipe) })
                    }
                }
                return try await group.reduce(into: [Int: Recipe]()) { $0[$1.0] = $1.1 }
            }
            for (place, _, first) in part {
                found[place] = recipes[place].flatMap { sources(of: plan.items[place], in: $0, first: first) }
            }
        }
        return found
    }

    /// Where the first file was when the job was submitted: this proves that the job is for the same folder of the same
    /// machine.
    private func first(of item: SubmitPlan.Item, _ job: EarlierJob) -> Location? {
        if uploads.file(at: item.source) == nil { return item.source }
        return job.stamp.flatMap { uploads.earlier(item.source, as: $0) }
    }

    /// The sources of an item as an earlier recipe names them; `nil` if that recipe reads others.
    func sources(of item: SubmitPlan.Item, in earlier: Recipe, first: Location) -> [Location]? {
        let current = plan.recipe(item).sources
        guard current.count == earlier.sources.count, earlier.sources.first?.location == first.description else {
            return nil
        }
        var places: [String: Location] = [item.source.description: first]
        for (now, then) in zip(current, earlier.sources).dropFirst() where now.location != then.location {
            // `try?`: other text is no place of a file that was sent.
            guard let location = try? Location(now.location), let old = try? Location(then.location),
                uploads.mayBe(old, anEarlierPlaceOf: location)
            else { return nil }
            places[now.location] = old
        }
        return item.sources.map { places[$0.description] ?? $0 }
    }
}
