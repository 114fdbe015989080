/// What one tick of housekeeping did. No chores: somebody else is at it, or nothing is due.
public struct HousekeepingReport: Sendable, Hashable {
    public var chores: [Chore] = []

    /// One thing that was due.
    public struct Chore: Sendable, Hashable {
        /// `reap`, `wake_delayed`, `fold_counts`, `raise_floors`, `audit_running`, `make_spans_ahead`, `drop_old`.
        public var name: String
        /// How many it changed, of whatever it changes.
        public var affected: Int
        public var took: Duration
        /// Why it could not be done; it is tried again when it is due next.
        public var error: String?
    }

    public subscript(_ chore: String) -> Chore? { chores.first { $0.name == chore } }
}
