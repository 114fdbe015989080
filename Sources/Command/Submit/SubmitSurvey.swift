import Console
import Conversion
import Ledger
import Storage

/// Compares a plan with the ledger and with the files on this machine: which jobs to submit, and what to report
/// about the others.
struct SubmitSurvey: Sendable {
    /// An item of the plan that becomes a job.
    struct Chosen: Sendable {
        /// The index in the plan's items.
        let place: Int
        /// Of each output, or one of all.
        let policies: [Recipe.ConflictPolicy]
        /// The destination's latest job; 0 if there is none. Part of the submission's key, so that later work makes
        /// it another submission.
        let predecessor: Int64
        let stamp: SourceStamp?

        func policy(of output: Int) -> Recipe.ConflictPolicy {
            output < policies.count ? policies[output] : policies[0]
        }
    }

    /// What exists at a destination.
    enum Presence: Sendable, Equatable {
        /// Its root is not on this machine.
        case unseen
        case absent
        /// Something exists there; its facts were not needed.
        case there
        /// Some of the job's outputs are missing, and those that exist are as they were written.
        case partly
        case known(Look)

        struct Look: Sendable, Equatable {
            let isFile: Bool
            let bytes: Int64
            /// In nanoseconds since 1970.
            let modified: Int64
            /// Whether its content has the recorded digest; `nil` if it was not read.
            var hasDigest: Bool?
        }
    }

    let conflict: SubmitConflict
    /// What to do about outputs that have changed since they were written; `nil`: what `conflict` says.
    let onAltered: SubmitAltered?
    private(set) var chosen: ChosenJobs
    /// The policy of `conflict`, which almost all jobs have.
    private let usualPolicies: [Recipe.ConflictPolicy]
    /// Parts of `chosen`: items without an earlier job, items whose outputs are gone, and items whose sources have
    /// changed.
    private(set) var fresh = 0
    private(set) var missing = SubmitPlan.Sample()
    private(set) var changed = SubmitPlan.Sample()
    /// Destinations that hold something else, and outputs that have changed since they were written.
    private(set) var conflicts = SubmitPlan.Sample()
    private(set) var altered = SubmitPlan.Sample()
    /// Done before, with the output in place.
    private(set) var unchanged = 0
    /// Left alone because the destination exists.
    private(set) var skipped = 0
    private(set) var underWay = 0
    private(set) var failed = SubmitPlan.Sample()
    /// Failed before, and the failure is accepted.
    private(set) var accepted = 0
    private(set) var cancelled = 0
    /// Done before, with outputs under roots that are not on this machine.
    private(set) var unseen = 0
    /// The batches of the jobs that are under way, that failed, that were cancelled, and of all jobs that were
    /// found.
    private(set) var batchesUnderWay: Set<Int64> = []
    private(set) var failedBatches: Set<Int64> = []
    private(set) var cancelledBatches: Set<Int64> = []
    private(set) var batches: Set<Int64> = []

    /// One output that a person has edited must not stop a nightly run, nor be replaced without being asked.
    init(_ conflict: SubmitConflict, onAltered: SubmitAltered? = nil) {
        self.conflict = conflict
        usualPolicies = [conflict.policy]
        chosen = ChosenJobs(usualPolicies: usualPolicies)
        self.onAltered = onAltered ?? (conflict == .fail ? .skip : nil)
    }

    /// Makes room for the items of a plan.
    mutating func reserveCapacity(_ count: Int) { chosen.reserveCapacity(count) }

    /// The destinations that prevent the submission.
    var forbidden: (conflicts: Int, altered: Int) {
        (conflict == .fail ? conflicts.count : 0, onAltered == .fail ? altered.count : 0)
    }

    /// Whether existing destinations prevent the submission.
    var isForbidden: Bool { forbidden != (0, 0) }

    /// Jobs that would be submitted if nothing prevented it.
    var jobCount: Int { chosen.count + forbidden.conflicts + forbidden.altered }

    /// Altered outputs that are left alone.
    var leftAltered: Int { onAltered == .skip ? altered.count : 0 }

    /// Whether all items are new.
    var isAllNew: Bool { fresh == jobCount && rest == 0 }

    /// Items that are not submitted.
    var rest: Int { withOutputs + underWay + failed.count + accepted + cancelled }

    /// Items that are not submitted because their outputs are there already, or have been edited.
    var withOutputs: Int { unchanged + skipped + leftAltered + unseen }

    // MARK: - One item

    /// Classifies one item. `earlier` is the destination's latest job, `work` the number of the work requested now.
    /// `outputs`: what exists of each output, and `presence` of all together. `hasMoved`: a source was sent to another place,
    /// because it has changed.
    mutating func classify(
        _ place: Int,
        _ item: SubmitPlan.Item,
        _ earlier: EarlierJob?,
        work: Int64,
        _ presence: Presence,
        of outputs: [Presence],
        _ stamp: SourceStamp?,
        hasMoved: Bool = false
    ) {
        func taken(_ policies: Recipe.ConflictPolicy...) -> Chosen { taken(policies) }
        func taken(_ policies: [Recipe.ConflictPolicy]) -> Chosen {
            Chosen(place: place, policies: policies, predecessor: earlier?.job ?? 0, stamp: stamp)
        }
        /// The first destination at which something exists.
        var found: String { "\(zip(item.destinations, outputs).first { $1.isTaken }?.0 ?? item.destination)".printable }
        /// Replaces each output that is older than the source. One that does not exist is made with either policy.
        var replacingOlder: [Recipe.ConflictPolicy] {
            outputs.map { $0.isOlder(than: stamp) ? .replace : .skip }
        }
        var isAltered = false
        var hasChanged = false
        if let same = earlier, same.work == work {
            batches.insert(same.batch)
            // If either stamp is unknown, the source does not count as changed.
            hasChanged = hasMoved || stamp.flatMap { now in same.stamp.map { $0 != now } } ?? false
            switch EarlierWork(same, presence, hasChanged: hasChanged, conflict, stamp) {
            case .underWay:
                underWay += 1
                batchesUnderWay.insert(same.batch)
                return
            case .failed:
                failed.add("\(item.source)".printable)
                failedBatches.insert(same.batch)
                return
            case .accepted: return accepted += 1
            case .cancelled:
                cancelled += 1
                cancelledBatches.insert(same.batch)
                return
            case .unseen: return unseen += 1
            case .unchanged: return unchanged += 1
            case .skipped: return skipped += 1
            case .missing:
                missing.add("\(item.destination)".printable)
                return chosen.append(taken(presence == .partly ? .skip : conflict.policy))
            case .changed:
                changed.add("\(item.source)".printable)
                // The existing files are outputs of ours, as they were written.
                return chosen.append(conflict == .newer ? taken(replacingOlder) : taken(.replace))
            case .altered: isAltered = true
            case .asNew: break
            }
        }
        var policies = usualPolicies
        if presence.isTaken, isAltered, let onAltered {
            altered.add(found)
            guard onAltered == .replace else { return }
            policies = [.replace]
        } else if presence.isTaken {
            switch conflict {
            case .fail: return conflicts.add(found)
            case .missing where presence == .partly: policies = [.skip]
            case .missing: return skipped += 1
            case .newer:
                policies = replacingOlder
                guard presence == .partly || policies.contains(.replace) else { return skipped += 1 }
            case .replace, .skip: break
            }
            if isAltered { altered.add(found) } else { conflicts.add(found) }
        }
        if hasChanged { changed.add("\(item.source)".printable) } else { fresh += 1 }
        chosen.append(taken(policies))
    }

    /// What an earlier job for the same work means for this submission.
    private enum EarlierWork {
        case underWay, failed, accepted, cancelled, unseen, unchanged, skipped, missing, changed, altered, asNew

        init(
            _ job: EarlierJob,
            _ presence: Presence,
            hasChanged: Bool,
            _ conflict: SubmitConflict,
            _ stamp: SourceStamp?
        ) {
            // If the job ended without an output, that of an earlier job for the same work may exist.
            let hasOutput = presence.holds(job)
            switch job.state {
            case .delayed, .waiting, .running, .publishing: self = .underWay
            case .failed, .accepted:
                // It failed because its destination existed, which the policy now allows.
                let isOvercome = job.code == FailureCode.destinationExists.rawValue && conflict != .fail
                let asBefore: Self = job.state == .accepted ? .accepted : .failed
                self = hasChanged && hasOutput ? .changed : hasChanged || isOvercome ? .asNew : asBefore
            case .cancelled: self = hasChanged ? hasOutput ? .changed : .asNew : .cancelled
            case .skipped where hasOutput: self = hasChanged ? .changed : .unchanged
            case .skipped:
                switch (presence, conflict) {
                case (.unseen, _): self = .unseen
                case (.absent, _), (.partly, _), (_, .fail), (_, .replace): self = .asNew
                case (_, .newer): self = presence.isOlder(than: stamp) ? .asNew : .skipped
                case (_, .skip), (_, .missing): self = .skipped
                }
            case .completed:
                switch presence {
                case .unseen: self = .unseen
                case .absent, .partly: self = .missing
                case .there: self = .altered
                case .known where !hasOutput: self = .altered
                case .known:
                    switch conflict {
                    case _ where !hasChanged: self = .unchanged
                    case .missing: self = .skipped
                    case .newer: self = presence.isOlder(than: stamp) ? .changed : .skipped
                    case .fail, .replace, .skip: self = .changed
                    }
                }
            }
        }
    }
}

extension SubmitSurvey.Presence {
    /// What exists of a job's outputs together. `records` are what an earlier job for the same work recorded of them.
    init(of outputs: [Self], _ records: [PublishedFile?]?) {
        let seen = outputs.filter { $0 != .unseen }
        let others = seen.filter { $0 != .absent }
        // Of a single output, its own presence says everything.
        guard outputs.count > 1, !others.isEmpty else {
            self = outputs.count > 1 ? (seen.isEmpty ? .unseen : .absent) : outputs[0]
            return
        }
        let hold = zip(outputs, records ?? []).allSatisfy { output, record in
            guard case .known(let look) = output, let record else { return true }
            return look.isFile && look.bytes == record.bytes && look.hasDigest != false
        }
        let looks = others.compactMap { if case .known(let look) = $0 { look } else { nil } }
        let oldest = looks.min { $0.modified < $1.modified }
        self = !hold ? .there : others.count < seen.count ? .partly : oldest.map(Self.known) ?? .there
    }

    /// Whether anything exists at the destination.
    var isTaken: Bool {
        switch self {
        case .unseen, .absent: false
        case .there, .partly, .known: true
        }
    }

    /// Whether the existing file is the job's recorded output.
    func holds(_ job: EarlierJob) -> Bool {
        guard case .known(let look) = self else { return false }
        // The first of several outputs was left alone, and the others have been compared.
        if job.bytes == nil, !job.further.isEmpty { return true }
        return look.isFile && look.bytes == job.bytes && look.hasDigest != false
    }

    /// Whether the existing file is older than the source.
    func isOlder(than stamp: SourceStamp?) -> Bool {
        guard case .known(let look) = self, let stamp else { return false }
        return look.modified < stamp.modified
    }
}
