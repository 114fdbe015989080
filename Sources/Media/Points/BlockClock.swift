import Conversion

/// Where the frames of a block lie on the clock of the track. Where a stream changes its rate, the clock keeps that of
/// its beginning.
struct BlockClock {
    let position: Int64
    let blockRate: Int
    let rate: Int

    /// Where frame `index` of the block begins.
    @inline(__always)
    func frame(_ index: Int) -> Int64 {
        position &+ (blockRate == rate ? Int64(index) : Int64(index) * Int64(rate) / Int64(max(1, blockRate)))
    }
}

extension PointRules {
    /// A length in frames, at least one.
    static func frames(_ time: MediaTime, _ rate: Int) -> Int64 {
        max(1, time.frames(atRate: rate)?.frames ?? .max)
    }
}
