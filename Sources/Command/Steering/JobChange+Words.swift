import Conversion
import Ledger

extension JobChange {
    /// What is about to happen: `cancel 12 jobs`, `move 12 jobs to priority 5`
    func sentence(_ count: Int) -> String {
        let jobs = Figures.count(count, "job")
        switch self {
        case .cancel: return "cancel \(jobs)"
        case .retry: return "put \(jobs) back into line, all attempts before them again"
        case .retryWithDamage(let mode, let limit):
            return "put \(jobs) back into line, all attempts before them again, \(Self.words(mode, limit))"
        case .prioritize(let priority): return "move \(jobs) to priority \(priority)"
        }
    }

    /// What has happened: `12 jobs cancelled, 3 running asked to stop`
    func words(_ tally: ChangeTally) -> String {
        let least = tally.isLowerBound ? "at least " : ""
        let jobs = Figures.count(tally.changed, "job")
        switch self {
        case .cancel:
            let asked = tally.asked > 0 ? ", \(Figures.grouped(tally.asked)) running asked to stop" : ""
            return "\(least)\(jobs) cancelled\(asked)"
        case .retry: return "\(least)\(jobs) back in line"
        case .retryWithDamage(let mode, let limit): return "\(least)\(jobs) back in line, \(Self.words(mode, limit))"
        case .prioritize(let priority): return "\(least)\(jobs) moved to priority \(priority)"
        }
    }

    /// `with --on-damage conceal --conceal-limit 600`
    private static func words(_ mode: DamageMode, _ limit: Int?) -> String {
        "with --on-damage \(mode.rawValue)" + (limit.map { " --conceal-limit \($0)" } ?? "")
    }
}
