/// Exponential back-off with full jitter: each wait is random, between zero and a bound that doubles.
///
/// The jitter keeps clients that failed together from coming back together.
struct Backoff: Sendable, Hashable {
    var first: Duration = .milliseconds(50)
    var longest: Duration = .seconds(5)
    private(set) var tries = 0

    init(first: Duration = .milliseconds(50), longest: Duration = .seconds(5)) {
        self.first = first
        self.longest = longest
    }

    /// The most that the next wait can be.
    var bound: Duration { min(longest, first * (1 << min(tries, 20))) }

    /// The next wait.
    mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
        defer { tries += 1 }
        return bound * Double.random(in: 0...1, using: &generator)
    }

    /// The next wait.
    mutating func next() -> Duration {
        var generator = SystemRandomNumberGenerator()
        return next(using: &generator)
    }
}
