import Conversion
import FoundationEssentials
import Ledger

/// What jobs need and no running worker can do. Such jobs wait, however many workers are idle.
///
/// The rule is that of the ledger's `list_unable`, for jobs that are about to wait.
struct WorkerGap: Sendable, Hashable, Encodable {
    let needs: [String]
    /// The needs that no running worker has. Empty if each is covered by some worker, but no single worker covers all.
    let missing: [String]

    /// The gaps of jobs with these needs, in their order.
    static func all(in needs: [[String]], among workers: [WorkerSummary], at now: Date) -> [WorkerGap] {
        let abilities = workers.filter { $0.endedAt == nil && $0.leaseUntil > now }.map { Set($0.abilities) }
        return needs.compactMap { needs in
            if abilities.contains(where: { $0.isSuperset(of: needs) }) { return nil }
            return WorkerGap(needs: needs, missing: needs.filter { need in !abilities.contains { $0.contains(need) } })
        }
    }

    /// The gaps among jobs with these needs, for callers who may not see the workers: the ledger tells of each lane with
    /// waiting jobs. It has added the version of recipes to the needs.
    static func all(in needs: [[String]], among lanes: [UnableLane], queue: String) -> [WorkerGap] {
        needs.compactMap { needs in
            let lane = lanes.first { lane in
                lane.queue == queue && Set(lane.needs.filter { !$0.hasPrefix("recipe:") }) == Set(needs)
            }
            return lane.map { WorkerGap(needs: $0.needs, missing: $0.missing) }
        }
    }

    /// `no running worker has root archive and codec mp3`
    var note: String {
        let who = missing.isEmpty ? "no running worker has all of" : "no running worker has"
        let words = (missing.isEmpty ? needs.filter { !$0.hasPrefix("recipe:") } : missing).map(Self.words)
        let last = words.last ?? ""
        let list = words.count > 1 ? words.dropLast().joined(separator: ", ") + " and " + last : last
        return "\(who) \(list)"
    }

    /// `root archive` for the need `root:archive`.
    private static func words(_ need: String) -> String {
        need.split(separator: ":", maxSplits: 1).joined(separator: " ").plain
    }
}
