/// Whether a worker is fit to work, by what its last attempts came to.
///
/// A failure of what it runs on spends no attempt, so a worker with a lost mount would take job after job and hand each
/// back. It pauses when such failures stand out, tries one job now and then, and goes on when that succeeds.
struct HealthWatch: Sendable {
    enum State: Sendable, Hashable {
        case well
        case paused(because: String, until: ContinuousClock.Instant)
        /// One job at a time, until one is good.
        case probing(because: String)
    }

    /// What is to be said to people.
    enum Change: Sendable, Hashable {
        case paused(because: String, wait: Duration)
        case resumed
    }

    private(set) var state = State.well
    private let firstPause: Duration
    private let longestPause: Duration
    private var pauses = 0
    private var recent: [(job: Int64, isBad: Bool)] = []

    /// How many attempts are looked at, how many of them must have failed, and of how many jobs.
    static let window = 10
    static let badAttempts = 5
    static let badJobs = 3

    init(firstPause: Duration, longestPause: Duration) {
        (self.firstPause, self.longestPause) = (firstPause, longestPause)
    }

    var pausedBecause: String? {
        switch state {
        case .well: nil
        case .paused(let reason, _), .probing(let reason): reason
        }
    }

    /// An attempt ended. `reason` is the failure of what it ran on; `nil` if it was none, whatever else became of it.
    mutating func note(job: Int64, failure reason: String?, at now: ContinuousClock.Instant) -> Change? {
        switch state {
        case .well:
            recent = (recent + [(job, reason != nil)]).suffix(Self.window)
            let bad = recent.filter(\.isBad)
            guard let reason, bad.count >= Self.badAttempts, Set(bad.map(\.job)).count >= Self.badJobs else {
                return nil
            }
            return pause(because: reason, at: now)
        case .probing:
            if let reason { return pause(because: reason, at: now) }
            (state, pauses, recent) = (.well, 0, [])
            return .resumed
        case .paused:
            // What was under way when it paused.
            return nil
        }
    }

    /// Something that all jobs need is gone: there is no need to try more of them.
    mutating func fail(because reason: String, at now: ContinuousClock.Instant) -> Change? {
        if case .paused = state { return nil }
        return pause(because: reason, at: now)
    }

    /// Whether the time has come to look whether what was missing is back.
    func isDue(at now: ContinuousClock.Instant) -> Bool {
        if case .paused(_, let until) = state { now >= until } else { false }
    }

    /// The roots are there; one job is to show whether they work.
    mutating func probe() {
        if case .paused(let reason, _) = state { state = .probing(because: reason) }
    }

    /// They are not.
    mutating func stayPaused(because reason: String, at now: ContinuousClock.Instant) -> Change? {
        pause(because: reason, at: now)
    }

    private mutating func pause(because reason: String, at now: ContinuousClock.Instant) -> Change {
        let wait = min(longestPause, firstPause * (1 << min(pauses, 16)))
        pauses += 1
        state = .paused(because: reason, until: now + wait)
        return .paused(because: reason, wait: wait)
    }
}
