/// What one tick of housekeeping did. No chores: another process keeps house, or nothing is due.
public struct HousekeepingReport: Sendable, Hashable {
    public var chores: [Chore] = []
    /// Whether chores were under way when time was over: what is left is due at the next tick.
    public var isUnfinished = false

    /// One thing that was due, with all of its pages.
    public struct Chore: Sendable, Hashable {
        /// `reap`, `wake_delayed`, `fold_counts`, `raise_floors`, `audit_running`, `make_spans_ahead`, `drop_old`, `fold_service`.
        public var name: String
        /// How many it changed, of whatever it changes.
        public var affected = 0
        public var took: Duration = .zero
        /// In so many transactions.
        public var pages = 0
        /// Why it could not be done; it is tried again when it is due next.
        public var error: String?
    }

    public subscript(_ chore: String) -> Chore? { chores.first { $0.name == chore } }

    /// Adds a page to what is known of its chore.
    mutating func add(_ page: Chore) {
        guard let index = chores.firstIndex(where: { $0.name == page.name }) else { return chores.append(page) }
        chores[index].affected += page.affected
        chores[index].took += page.took
        chores[index].pages += page.pages
        chores[index].error = page.error
    }
}
