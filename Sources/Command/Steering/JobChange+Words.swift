import Conversion
import Ledger

extension JobChange {
    /// Announces the change: `cancel 12 jobs`, `move 12 jobs to priority 5`, `have 1 half-published job finished`
    func sentence(_ count: Int, publishing: Int = 0) -> String {
        if count == 0, publishing > 0, isRetry {
            return "have \(Figures.count(publishing, "half-published job")) finished"
        }
        let jobs = Figures.count(count, "job")
        switch self {
        case .cancel: return "cancel \(jobs)"
        case .retry: return "put \(jobs) back into line, all attempts before them again"
        case .retryWithDamage(let mode, let limit):
            return "put \(jobs) back into line, all attempts before them again, \(Self.words(mode, limit))"
        case .prioritize(let priority): return "move \(jobs) to priority \(priority)"
        }
    }

    /// Why there is nothing to do, if the reason is that jobs are publishing; otherwise empty.
    func excuse(publishing count: Int) -> String {
        guard case .cancel = self, count > 0 else { return "" }
        let those = count == 1 ? "1 job is" : "\(Figures.grouped(count)) jobs are"
        return ": \(those) publishing, which is too late to cancel"
    }

    var isRetry: Bool {
        switch self {
        case .retry, .retryWithDamage: true
        case .cancel, .prioritize: false
        }
    }

    /// Reports the change: `12 jobs cancelled, 3 running asked to stop`
    func words(_ tally: ChangeTally) -> String {
        let least = tally.isLowerBound ? "at least " : ""
        let jobs = Figures.count(tally.changed, "job")
        switch self {
        case .cancel:
            let asked = tally.asked > 0 ? ", \(Figures.grouped(tally.asked)) running asked to stop" : ""
            let late =
                tally.publishing > 0 ? ", \(Figures.grouped(tally.publishing)) publishing and too late to cancel" : ""
            return "\(least)\(jobs) cancelled\(asked)\(late)"
        case .retry: return "\(least)\(jobs) back in line\(Self.handedOut(tally))"
        case .retryWithDamage(let mode, let limit):
            return "\(least)\(jobs) back in line, \(Self.words(mode, limit))\(Self.handedOut(tally))"
        case .prioritize(let priority): return "\(least)\(jobs) moved to priority \(priority)"
        }
    }

    /// `, 2 half published: the next worker with their root finishes them`
    private static func handedOut(_ tally: ChangeTally) -> String {
        guard tally.publishing > 0 else { return "" }
        let them = tally.publishing == 1 ? "its root finishes it" : "their root finishes them"
        return ", \(Figures.grouped(tally.publishing)) half published: the next worker with \(them)"
    }

    /// `with --on-damage conceal --conceal-limit 600`
    private static func words(_ mode: DamageMode, _ limit: Int?) -> String {
        "with --on-damage \(mode.rawValue)" + (limit.map { " --conceal-limit \($0)" } ?? "")
    }
}
