public import Conversion

/// The damage in a source: which frames were lost, and why.
public struct DamageAccount: Sendable, Hashable {
    /// One stretch that could not be decoded. Positions are in frames of the source.
    public struct Stretch: Sendable, Hashable {
        public let start: Int64
        public let frames: Int64
        public let code: FailureCode
    }

    /// The first stretches, at most `listLimit` of them. Adjacent stretches with the same code are merged.
    public private(set) var stretches: [Stretch] = []
    /// All stretches, listed or not.
    public private(set) var stretchCount = 0
    /// Frames lost in all stretches.
    public private(set) var frames: Int64 = 0

    /// Bounds the list, because a hostile file can be damaged in a million places.
    public static let listLimit = 100

    public var isEmpty: Bool { frames == 0 && stretchCount == 0 }

    mutating func note(_ code: FailureCode, at start: Int64, frames lost: Int64) {
        frames += lost
        if let last = stretches.last, stretchCount == stretches.count, last.start + last.frames == start,
            last.code == code
        {
            stretches[stretches.count - 1] = Stretch(start: last.start, frames: last.frames + lost, code: code)
            return
        }
        stretchCount += 1
        if stretches.count < Self.listLimit { stretches.append(Stretch(start: start, frames: lost, code: code)) }
    }

    /// Adds what another account holds.
    mutating func add(_ other: DamageAccount) {
        frames = frames.addingSaturated(other.frames)
        stretchCount += other.stretchCount
        stretches += other.stretches.prefix(max(0, Self.listLimit - stretches.count))
    }
}
