/// A run of frames with some property. Of a run only the part counts that reaches from its first marked frame to its last.
struct MarkedRun {
    let shortest: Int64
    private var first: Int64?
    private var end: Int64 = 0

    init(shortest: Int64) { self.shortest = shortest }

    /// Adds a marked frame, or several.
    @inline(__always)
    mutating func mark(_ start: Int64, upTo end: Int64) {
        if first == nil { first = start }
        self.end = end
    }

    /// Ends the run. Returns what counts of it, if that is long enough.
    @inline(__always)
    mutating func finish() -> Range<Int64>? {
        guard let start = first else { return nil }
        first = nil
        return end - start >= shortest ? start..<end : nil
    }
}
