/// A source of a job whose bytes the slot fetches, as the room is told of it.
package struct WindowFacts: Codable, Hashable, Sendable {
    /// The place of the source in the job.
    package let source: Int
    package let byteCount: Int64

    /// The memory that the slot and the room share for each such source.
    package static let memoryBytes = 256 << 10
}

/// What a room asks for: bytes of a source, which the slot writes to the beginning of their shared memory.
package struct WindowQuestion: Codable, Hashable, Sendable {
    /// Differs from that of every other question of the room.
    package let number: Int64
    /// The place of the source in the job.
    package let source: Int
    package let offset: Int64
    /// At least 1. The slot may fetch less.
    package let count: Int

    package init(number: Int64, source: Int, offset: Int64, count: Int) {
        (self.number, self.source, self.offset, self.count) = (number, source, offset, count)
    }

    /// Whether it can be a question about some source.
    var isCredible: Bool {
        (0..<Datagram.descriptorLimit).contains(source) && FigureBound.bytes > offset && offset >= 0
            && (1...WindowFacts.memoryBytes).contains(count)
    }
}
