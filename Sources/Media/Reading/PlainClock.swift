/// Numbers the blocks of an output that has its own time line.
struct PlainClock {
    private let rate: Int
    private var place: Int64 = 0
    /// What blocks of another rate leave of a frame.
    private var rest: Int64 = 0

    init(rate: Int) { self.rate = rate }

    /// Sets the position of `block`, which follows the blocks before it.
    mutating func count(_ block: inout SampleBlock) {
        block.position = place
        let own = block.shape?.sampleRateHz ?? rate
        guard own != rate else {
            place += Int64(block.frameCount)
            return
        }
        let (whole, rest) = (Int64(block.frameCount) * Int64(rate) + rest).quotientAndRemainder(dividingBy: Int64(own))
        place += whole
        self.rest = rest
    }
}
