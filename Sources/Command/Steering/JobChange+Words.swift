import API
import Console
import Conversion
import Ledger

extension JobChange {
    /// Announces the change: `cancel 12 jobs`, `move 12 jobs to priority 5`, `finish 1 half-published job`
    func sentence(_ count: Int, publishing: Int = 0) -> String {
        if count == 0, publishing > 0, isRetry {
            return "finish \(Figures.count(publishing, "half-published job"))"
        }
        let jobs = Figures.count(count, "job")
        switch self {
        case .cancel: return "cancel \(jobs)"
        case .retry: return "put \(jobs) back into the queue with a fresh set of attempts"
        case .retryWithDamage(let mode, let limit):
            return "put \(jobs) back into the queue with a fresh set of attempts, \(Self.words(mode, limit))"
        case .prioritize(let priority): return "move \(jobs) to priority \(priority)"
        case .accept(undo: false): return "accept the \(Plural.form("failure", for: count)) of \(jobs)"
        case .accept(undo: true): return "count \(jobs) as failed again"
        }
    }

    /// Why there is nothing to do, if the reason is that jobs are publishing; otherwise empty.
    func excuse(publishing count: Int) -> String {
        guard case .cancel = self, count > 0 else { return "" }
        let those = Figures.subject(count, "job")
        return ": \(those) already publishing, too late to cancel"
    }

    /// Whether the change takes no account of jobs that are publishing.
    var leavesPublishing: Bool {
        switch self {
        case .prioritize, .accept: true
        case .cancel, .retry, .retryWithDamage: false
        }
    }

    /// In tables: `prioritize 5`
    var title: String {
        switch self {
        case .cancel: "cancel"
        case .retry, .retryWithDamage: "retry"
        case .prioritize(let priority): "prioritize \(priority)"
        case .accept(let undo): undo ? "accept --undo" : "accept"
        }
    }

    var isRetry: Bool {
        switch self {
        case .retry, .retryWithDamage: true
        case .cancel, .prioritize, .accept: false
        }
    }

    /// Reports the change: `12 jobs cancelled, 3 running jobs being stopped`
    func words(_ tally: ChangeTally) -> String {
        let least = tally.isLowerBound ? "at least " : ""
        let jobs = Figures.count(tally.changed, "job")
        switch self {
        case .cancel:
            let asked = tally.asked > 0 ? ", \(Figures.count(tally.asked, "running job")) being stopped" : ""
            let late =
                tally.publishing > 0
                ? ", \(Figures.grouped(tally.publishing)) already publishing, too late to cancel" : ""
            return "\(least)\(jobs) cancelled\(asked)\(late)"
        case .retry: return "\(least)\(jobs) back in the queue\(Self.handedOut(tally))"
        case .retryWithDamage(let mode, let limit):
            return "\(least)\(jobs) back in the queue, \(Self.words(mode, limit))\(Self.handedOut(tally))"
        case .prioritize(let priority): return "\(least)\(jobs) moved to priority \(priority)"
        case .accept(undo: false): return "\(least)\(Figures.count(tally.changed, "failure")) accepted"
        case .accept(undo: true): return "\(least)\(jobs) \(tally.changed == 1 ? "counts" : "count") as failed again"
        }
    }

    /// `, 2 half-published: the next worker with their root finishes them`
    private static func handedOut(_ tally: ChangeTally) -> String {
        guard tally.publishing > 0 else { return "" }
        let them = tally.publishing == 1 ? "its root finishes it" : "their root finishes them"
        return ", \(Figures.grouped(tally.publishing)) half-published: the next worker with \(them)"
    }

    /// `with --on-damage conceal --conceal-limit 600`
    private static func words(_ mode: DamageMode, _ limit: Int?) -> String {
        "with --on-damage \(mode.rawValue)" + (limit.map { " --conceal-limit \($0)" } ?? "")
    }
}
