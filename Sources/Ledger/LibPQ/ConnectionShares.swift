/// How the connections of a pool are shared out to the callers that it acts for.
///
/// One caller has three quarters of them at most, and runs of all callers that may take minutes have half of them together:
/// the rest is left for reads and short changes. Runs of the login itself have no share.
struct ConnectionShares {
    /// What a run counts against.
    struct Share: Sendable, Hashable {
        let account: String
        /// Whether it may take longer than usual operations.
        let isLong: Bool
    }

    private let perAccount: Int
    private let long: Int
    /// How many runs of one account may wait.
    let line: Int
    private var used: [String: Int] = [:]
    private var usedByLong = 0

    init(connections: Int) {
        perAccount = max(1, connections - max(1, connections / 4))
        long = max(1, connections / 2)
        line = 64 * connections
    }

    /// Whether a run may take a connection now.
    func permit(_ share: Share?) -> Bool {
        guard let share else { return true }
        return used[share.account, default: 0] < perAccount && (!share.isLong || usedByLong < long)
    }

    mutating func take(_ share: Share?) {
        guard let share else { return }
        used[share.account, default: 0] += 1
        if share.isLong { usedByLong += 1 }
    }

    mutating func release(_ share: Share?) {
        guard let share else { return }
        let left = used[share.account, default: 0] - 1
        used[share.account] = left > 0 ? left : nil
        if share.isLong { usedByLong -= 1 }
    }

    /// The place in the line of the run that is served next: of the account with the fewest connections, and of these the
    /// first one. `nil` if none may take one.
    func next(of waiting: some Sequence<Share?>) -> Int? {
        var best: (index: Int, used: Int)?
        for (index, share) in waiting.enumerated() where permit(share) {
            let own = share.map { used[$0.account, default: 0] } ?? 0
            if own < best?.used ?? .max { best = (index, own) }
            if own == 0 { break }
        }
        return best?.index
    }
}
