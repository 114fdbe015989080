/// The sample rates, in Hz, that a codec accepts in a container.
public enum SampleRates: Sendable, Hashable {
    case range(ClosedRange<Int>)
    /// `fallback` is for sources at any other rate; with `nil` they take the next higher rate in the list.
    case list([Int], fallback: Int?)
    /// Every rate in `every`; above that, multiples of `step` up to `upTo` (FLAC's header).
    case stepped(every: ClosedRange<Int>, step: Int, upTo: Int)

    /// Whether the codec accepts `rate`.
    public func contains(_ rate: Int) -> Bool {
        switch self {
        case .range(let range): range.contains(rate)
        case .list(let rates, _): rates.contains(rate)
        case .stepped(let every, let step, let end):
            every.contains(rate) || (rate > every.upperBound && rate <= end && rate % step == 0)
        }
    }

    /// The lowest allowed rate at or above `rate`, else the highest. A list's fallback goes first.
    ///
    /// `accepts` narrows a list further, because some bit rates exist only at some sample rates.
    func nearest(to rate: Int, where accepts: (Int) -> Bool) -> Int? {
        switch self {
        case .range(let range):
            return min(max(rate, range.lowerBound), range.upperBound)
        case .list(let rates, let fallback):
            let fitting = rates.filter(accepts)
            if let fallback, !rates.contains(rate), fitting.contains(fallback) { return fallback }
            return fitting.filter { $0 >= rate }.min() ?? fitting.max()
        case .stepped(let every, let step, let end):
            if rate <= every.upperBound { return max(rate, every.lowerBound) }
            return min((rate + step - 1) / step * step, end)
        }
    }

    /// The highest allowed rate that is not above `ceiling`.
    func highest(upTo ceiling: Int, where accepts: (Int) -> Bool) -> Int? {
        switch self {
        case .range(let range):
            return ceiling < range.lowerBound ? nil : min(ceiling, range.upperBound)
        case .list(let rates, _):
            return rates.filter { $0 <= ceiling && accepts($0) }.max()
        case .stepped(let every, let step, let end):
            if ceiling > every.upperBound, min(ceiling, end) / step * step > every.upperBound {
                return min(ceiling, end) / step * step
            }
            return ceiling < every.lowerBound ? nil : min(ceiling, every.upperBound)
        }
    }

    /// The accepted rates in Hz, as a refusal lists them: `8000, 12000, 16000` or `1 to 65534, ...`.
    public var title: String {
        switch self {
        case .range(let range): "\(range.lowerBound) to \(range.upperBound)"
        case .list(let rates, _): rates.sorted().map { String($0) }.joined(separator: ", ")
        case .stepped(let every, let step, let end):
            "\(every.lowerBound) to \(every.upperBound), multiples of \(step) to \(end)"
        }
    }
}
