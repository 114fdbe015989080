/// The damage in a source, in frames on its clock.
public struct DamageReport: Sendable, Hashable, Codable {
    /// Frames lost in all stretches together.
    public var frames: Int64
    /// The number of stretches, including those that `stretches` does not list.
    public var stretchCount: Int
    /// The first stretches.
    public var stretches: [Stretch]

    /// A contiguous part of the source that could not be decoded.
    public struct Stretch: Sendable, Hashable, Codable {
        /// Its first frame.
        public var start: Int64
        /// 0 if nothing is missing or the length is unknown.
        public var frames: Int64
        /// An error code from docs/errors.md.
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
