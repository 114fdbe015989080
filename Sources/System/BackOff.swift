/// Exponential back-off with jitter: each wait is a random share of a bound that doubles.
///
/// The jitter keeps clients that failed together from coming back together.
package struct BackOff: Sendable, Hashable {
    package let first: Duration
    package let longest: Duration
    private(set) package var tries = 0

    package init(first: Duration = .milliseconds(50), longest: Duration = .seconds(5)) {
        (self.first, self.longest) = (first, longest)
    }

    /// The most that the next wait can be.
    package var bound: Duration { min(longest, first * (1 << min(tries, 20))) }

    /// The next wait.
    package mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
        defer { tries += 1 }
        return bound * Double.random(in: 0...1, using: &generator)
    }

    /// The next wait.
    package mutating func next() -> Duration {
        var generator = SystemRandomNumberGenerator()
        return next(using: &generator)
    }

    /// Waits. Returns false if the task was cancelled.
    package mutating func wait() async -> Bool {
        do {
            try await Task.sleep(for: next(), clock: .continuous)
            return true
        } catch {
            return false
        }
    }

    /// Begins with the first wait again.
    package mutating func reset() { tries = 0 }
}
