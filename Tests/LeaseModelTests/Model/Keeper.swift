/// A process that does the housekeeping, finishes publications that others left, and sweeps.
struct Keeper: Sendable {
    enum Phase: UInt8, Sendable { case handed, named, flushed, spoiled }

    var isPaused = false
    var order: Order?
    var phase = Phase.handed
    var reason: Reason?
    /// Attempts' files that it will remove next.
    var litter: [AttemptKey] = []
    /// Fences that were valid before the folder was listed, which is the wrong order. Used without the guard
    /// `sweepListsFirst`.
    var standing: [AttemptKey]?
}
