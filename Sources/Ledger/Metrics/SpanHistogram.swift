/// How many times fell into each of some ranges, from a hundredth of a second to six hours.
public struct SpanHistogram: Sendable, Hashable {
    /// The upper limits of all buckets but the last, which has none. `span_bucket` in the migrations has the same.
    public static let limits: [Double] = [
        0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600,
    ]

    /// The number of times in each bucket; the last counts those beyond all limits.
    public internal(set) var counts = Array(repeating: 0.0, count: limits.count + 1)
    /// The sum of all times, in seconds.
    public internal(set) var seconds = 0.0

    public init() {}

    /// The number of all times.
    public var count: Double { counts.reduce(0, +) }

    /// For each limit, the number of times that do not exceed it.
    public var cumulative: [(limit: Double, count: Double)] {
        var sum = 0.0
        return zip(Self.limits, counts).map { limit, count in
            sum += count
            return (limit, sum)
        }
    }
}
