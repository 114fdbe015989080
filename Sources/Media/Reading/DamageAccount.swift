/// What a source lacked, frame by frame, and what was done about it.
public struct DamageAccount: Sendable, Hashable {
    /// One stretch that could not be decoded, on the source's clock.
    public struct Stretch: Sendable, Hashable {
        public let start: Int64
        public let frames: Int64
        public let code: MediaError.Code
    }

    /// The first stretches, merged where they touch; at most `listLimit` of them.
    public private(set) var stretches: [Stretch] = []
    /// How many there were in all, listed or not.
    public private(set) var stretchCount = 0
    /// Frames lost in all stretches together.
    public private(set) var frames: Int64 = 0

    /// A hostile file can be damaged in a million places: the account stays small.
    public static let listLimit = 100

    public var isEmpty: Bool { frames == 0 && stretchCount == 0 }

    mutating func note(_ code: MediaError.Code, at start: Int64, frames lost: Int64) {
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
}
