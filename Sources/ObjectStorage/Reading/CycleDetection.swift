/// Notices that a sequence repeats itself, after some three times as many values as the repeated part and those before it
/// have together. Memory is one value, whatever the length of the sequence (Brent's algorithm).
struct CycleDetection<Value: Sendable & Equatable>: Sendable {
    private var kept: Value?
    private var steps = 0
    private var limit = 1

    /// Whether `value` was in the sequence before. Values of a repeated part are found in its second or third round.
    mutating func repeats(_ value: Value) -> Bool {
        if let kept, kept == value { return true }
        steps += 1
        if steps == limit {
            kept = value
            (steps, limit) = (0, limit * 2)
        }
        return false
    }
}
