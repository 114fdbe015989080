/// A source of a job whose bytes the slot fetches, as the room is told of it.
struct WindowFacts: Codable, Hashable {
    /// The place of the source in the job.
    let source: Int
    let byteCount: Int64

    /// The memory that the slot and the room share for each such source.
    static let memoryBytes = 256 << 10
}

/// What a room asks for: bytes of a source, which the slot writes to the beginning of their shared memory.
struct WindowQuestion: Codable, Hashable {
    /// Differs from that of every other question of the room.
    let number: Int64
    /// The place of the source in the job.
    let source: Int
    let offset: Int64
    /// At least 1. The slot may fetch less.
    let count: Int

    /// Whether it can be a question about some source.
    var isCredible: Bool {
        (0..<Datagram.descriptorLimit).contains(source) && FigureBound.bytes > offset && offset >= 0
            && (1...WindowFacts.memoryBytes).contains(count)
    }
}
