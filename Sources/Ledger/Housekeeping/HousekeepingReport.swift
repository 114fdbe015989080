/// What one tick of housekeeping did. It has no chores if another process does the housekeeping, or nothing is due.
public struct HousekeepingReport: Sendable, Hashable {
    public var chores: [Chore] = []
    /// Whether time ran out while chores were unfinished. The rest is due at the next tick.
    public var isUnfinished = false
    /// How long all processes may rest now, if no notification comes; `nil` if the next tick is needed as usual.
    public var rest: Duration?

    /// One chore that was due, with all its pages.
    public struct Chore: Sendable, Hashable {
        /// `reap`, `wake_delayed`, `fold_counts`, `raise_floors`, `audit_running`, `make_spans_ahead`, `drop_old`,
        /// `close_albums`, `fold_service`, `trim_audit`, `find_events`, `trim_webhooks` or `fold_use`.
        public var name: String
        /// How many rows or objects it changed; which kind depends on the chore.
        public var affected = 0
        public var took: Duration = .zero
        /// The number of pages. Each is one transaction.
        public var pages = 0
        /// Why the chore failed. It is tried again when it is due next.
        public var error: String?
    }

    public subscript(_ chore: String) -> Chore? { chores.first { $0.name == chore } }

    /// Adds a page to its chore.
    mutating func add(_ page: Chore) {
        guard let index = chores.firstIndex(where: { $0.name == page.name }) else { return chores.append(page) }
        chores[index].affected += page.affected
        chores[index].took += page.took
        chores[index].pages += page.pages
        chores[index].error = page.error
    }
}
