import Console
import Conversion
import FoundationEssentials
import Ledger
import Storage

/// Which sources to scan, and what to report about the others.
struct ScanSurvey: Sendable {
    /// A source that becomes a job.
    struct Chosen: Sendable {
        let source: Location
        let stamp: SourceStamp?
        /// The latest job that scanned it; 0 if there is none. Part of the submission's key, so that later work makes it
        /// another submission.
        let predecessor: Int64
    }

    /// After which time a source is scanned again that has not changed; `nil` for never.
    let every: Duration?
    /// Whether to scan all sources, whatever is known of their scans.
    let isAgain: Bool
    /// The ledger's time.
    let now: Date
    private(set) var chosen: [Chosen] = []
    /// Parts of `chosen`: sources that were never scanned, that have changed since, and whose last scan is too old.
    private(set) var fresh = 0
    private(set) var changed = 0
    private(set) var due = 0
    /// All of `chosen`, if `isAgain`.
    private(set) var again = 0
    private(set) var unchanged = 0
    private(set) var underWay = 0
    /// Sources whose last scan failed, and that have not changed since. The ledger may no longer have the job.
    private(set) var failed = SubmitPlan.Sample()
    /// The same of sources whose failures are accepted.
    private(set) var accepted = 0
    /// The batches of the jobs that are under way, and of those that failed.
    private(set) var batchesUnderWay: Set<Int64> = []
    private(set) var failedBatches: Set<Int64> = []

    init(every: Duration?, isAgain: Bool, now: Date) {
        (self.every, self.isAgain, self.now) = (every, isAgain, now)
    }

    /// The sources that are not scanned.
    var rest: Int { unchanged + underWay + failed.count + accepted }

    /// `earlier` is what is known of the scans of `source`, and `stamp` the file as it is now, if this machine has it.
    mutating func classify(_ source: Location, _ earlier: EarlierScan?, _ stamp: SourceStamp?) {
        func choose() { chosen.append(Chosen(source: source, stamp: stamp, predecessor: earlier?.job ?? 0)) }
        guard !isAgain else {
            again += 1
            return choose()
        }
        guard let earlier else {
            fresh += 1
            return choose()
        }
        if let state = earlier.state, !state.isEnd {
            underWay += 1
            if let batch = earlier.batch { batchesUnderWay.insert(batch) }
            return
        }
        let isAccepted = earlier.state == .accepted
        let hasFailed = isAccepted || earlier.state == .failed
        let known = hasFailed ? earlier.submittedStamp ?? earlier.stamp : earlier.stamp
        let last = hasFailed ? earlier.endedAt ?? earlier.checkedAt : earlier.checkedAt
        // If either is unknown, the source does not count as changed.
        if let stamp, let known, stamp != known {
            changed += 1
            return choose()
        }
        if let every, let last, now.timeIntervalSince(last) >= every / .seconds(1) {
            due += 1
            return choose()
        }
        if isAccepted {
            accepted += 1
        } else if hasFailed || earlier.job == nil && (earlier.hasRotten || earlier.isDamaged) {
            failed.add("\(source)".printable)
            if let batch = earlier.batch { failedBatches.insert(batch) }
        } else if earlier.checkedAt != nil {
            unchanged += 1
        } else {
            // Cancelled before there was a result, or the ledger no longer has it.
            fresh += 1
            choose()
        }
    }

    /// Identifies the jobs to submit: equal for the same sources and wishes as long as none of them has been scanned.
    func key(_ recipe: Recipe, _ wishes: [String]) throws -> String {
        var digest = RunningFingerprint()
        for wish in wishes { digest.add(wish) }
        digest.add(try recipe.json())
        for choice in chosen {
            digest.add("\(choice.source)")
            digest.add("\(choice.predecessor) \(choice.stamp?.bytes ?? -1) \(choice.stamp?.modified ?? -1)")
        }
        return "scan:\(digest.finish().hexDigest)"
    }

    /// The jobs to submit, created lazily.
    func requests(_ recipe: Recipe) -> RequestSequence<[Chosen]> {
        RequestSequence(choices: chosen) { choice in
            var recipe = recipe
            recipe.sources[0].location = "\(choice.source)"
            return JobRequest(recipe, needs: [AbilityWord.root(choice.source.root)], stamp: choice.stamp)
        }
    }
}
