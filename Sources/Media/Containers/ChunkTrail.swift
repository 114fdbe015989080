/// Tells chunks behind the sound from other bytes.
struct ChunkTrail {
    private let chunks: Chunks?
    /// Where the next chunk must begin, and what is known of its head.
    private var next: Int64
    private var head: [UInt8] = []
    /// Where the last chunk begins, and whether it holds tags for certain.
    private var last: (place: Int64, isTag: Bool)
    /// Where bytes begin that are no chunks; `nil` as long as there are none.
    private var foreign: Int64?

    /// `nil` for `chunks` if none may follow.
    init(_ chunks: Chunks?, from place: Int64) {
        (self.chunks, next, last) = (chunks, place, (place, false))
    }

    /// Takes bytes of the source at `place`. Call it for all bytes in their order.
    mutating func take(_ bytes: UnsafeBufferPointer<UInt8>, at place: Int64) {
        let end = place + Int64(bytes.count)
        while foreign == nil, case let wanted = next + Int64(head.count), wanted < end {
            let start = Int(max(0, wanted - place))
            head += bytes[start..<min(bytes.count, start + headBytes - head.count)]
            guard head.count == headBytes else { return }
            step()
        }
    }

    /// The same for a file: reads only the heads.
    private mutating func takeAll(of source: ByteSource, _ size: Int64) {
        for _ in 0..<Chunks.most {
            guard foreign == nil, next < size else { return }
            head = source.bytes(at: next, count: headBytes) ?? []
            guard head.count == headBytes else { return }
            step()
        }
        // A thousand chunks in a row are no sound, whatever follows them.
        if foreign == nil { next = max(next, size) }
    }

    private var headBytes: Int { chunks?.headBytes ?? 1 }

    private mutating func step() {
        guard let chunks, let end = chunks.end(ofTrailing: head, at: next) else { return foreign = next }
        last = (next, Chunks.tags.contains(String(decoding: head[..<4], as: UTF8.self)))
        (next, head) = (end, [])
    }

    /// The bytes that are no chunks, in a source of `size` bytes.
    func uncounted(in size: Int64) -> Int64 {
        if let foreign { return max(0, size - foreign) }
        // Some writers omit the bytes that pad the last chunk.
        if next > size { return next - size < chunks?.alignment ?? 1 || last.isTag ? 0 : max(0, size - last.place) }
        // Others add padding that no chunk has.
        return Int64(head.count) == size - next && head.allSatisfy { $0 == 0 } ? 0 : size - next
    }

    /// The places at which chunks may begin behind `bytes` of sound: some writers do not pad.
    fileprivate static func starts(behind count: SoundCount, of bytes: Int64) -> Set<Int64> {
        let end = count.place + bytes
        return [end, end + (count.chunks?.padding(behind: bytes + count.besides) ?? 0)]
    }

    /// The bytes that are no chunks behind `bytes` of sound in a file of `size` bytes.
    static func uncounted(behind count: SoundCount, of bytes: Int64, in source: ByteSource, _ size: Int64) -> Int64 {
        let counts = starts(behind: count, of: bytes).map { start in
            var trail = ChunkTrail(count.chunks, from: start)
            trail.takeAll(of: source, size)
            return trail.uncounted(in: size)
        }
        return counts.min() ?? 0
    }
}

/// Sees what follows the counted sound of a pipe, while it is read.
final class TrailWatch: PassingBytes {
    private var trails: [ChunkTrail]
    private var passed: Int64 = 0

    init(_ count: SoundCount) {
        trails = ChunkTrail.starts(behind: count, of: count.bytes).map { ChunkTrail(count.chunks, from: $0) }
    }

    func pass(_ bytes: UnsafeBufferPointer<UInt8>) {
        for index in trails.indices { trails[index].take(bytes, at: passed) }
        passed += Int64(bytes.count)
    }

    /// The bytes that are no chunks, in a pipe of `size` bytes.
    func uncounted(in size: Int64) -> Int64 { trails.map { $0.uncounted(in: size) }.min() ?? 0 }
}
