/// What a source lacked, frame by frame on its clock.
public struct DamageReport: Sendable, Hashable, Codable {
    /// Frames lost in all stretches together.
    public var frames: Int64
    /// How many stretches there are, listed or not.
    public var stretchCount: Int
    /// The first of them.
    public var stretches: [Stretch]

    /// One stretch that could not be decoded.
    public struct Stretch: Sendable, Hashable, Codable {
        /// Its first frame.
        public var start: Int64
        /// None where nothing is missing, or where it cannot be told how much.
        public var frames: Int64
        /// A name out of docs/errors.md.
        public var code: String

        public init(start: Int64, frames: Int64, code: String) {
            self.start = start
            self.frames = frames
            self.code = code
        }
    }

    public init(frames: Int64 = 0, stretchCount: Int = 0, stretches: [Stretch] = []) {
        self.frames = frames
        self.stretchCount = stretchCount
        self.stretches = stretches
    }

    public var isEmpty: Bool { frames == 0 && stretchCount == 0 }
}
