/// Decides from recent attempts whether a worker is fit to work.
///
/// An infrastructure failure spends no attempt, so a worker with a lost mount would take job after job
/// and hand each one back. The worker pauses when such failures stand out, tries one job now and then,
/// and resumes when that succeeds.
struct HealthWatch: Sendable {
    enum State: Sendable, Hashable {
        case well
        case paused(because: String, until: ContinuousClock.Instant)
        /// One job at a time, until one succeeds.
        case probing(because: String)
    }

    /// A change to report to users.
    enum Change: Sendable, Hashable {
        case paused(because: String, wait: Duration)
        case resumed
    }

    private(set) var state = State.well
    private let firstPause: Duration
    private let longestPause: Duration
    private var pauses = 0
    private var recent: [(job: Int64, isBad: Bool)] = []

    /// The number of attempts considered; how many of them must be bad, and from how many
    /// jobs, before the worker pauses.
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

    /// Records the end of an attempt. `reason` describes an infrastructure failure; `nil` for any other result.
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
            // Attempts that began before the pause do not count.
            return nil
        }
    }

    /// Pauses at once, because something that all jobs need is missing.
    mutating func fail(because reason: String, at now: ContinuousClock.Instant) -> Change? {
        if case .paused = state { return nil }
        return pause(because: reason, at: now)
    }

    /// Whether it is time to check if the cause is gone.
    func isDue(at now: ContinuousClock.Instant) -> Bool {
        if case .paused(_, let until) = state { now >= until } else { false }
    }

    /// The roots are accessible; the next job shows whether they work.
    mutating func probe() {
        if case .paused(let reason, _) = state { state = .probing(because: reason) }
    }

    /// The roots are still missing: pauses again, for longer.
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
