import Conversion

/// Corrects the chunk in which CAF and AIFF state the layout.
///
/// For two layouts of eight channels, libav states the name of the same speakers in another order, so players would swap
/// the side speakers with others. The chunk can list the speakers of the samples in their own order instead.
enum LayoutChunk {
    /// 7.1, whose name means side before back speakers, and 7.1(wide-side), whose name means side before front ones.
    private static let misnamed: Set<UInt64> = [0x63F, 0x6CF]
    /// The chunk then has a bit for each speaker, as in WAVE.
    private static let hasBits: Int64 = 1 << 16

    static func apply(to sink: ByteSink, _ format: ResolvedFormat, _ chunks: Chunks, named name: String) throws {
        guard misnamed.contains(format.layout.mask) else { return }
        guard let place = try chunks.first(name, in: sink) else { throw sink.malformed("no \(name) chunk") }
        try sink.patch(
            bigEndianBytes(hasBits, count: 4) + bigEndianBytes(Int64(format.layout.mask), count: 4),
            at: place
        )
    }
}

extension Chunks {
    /// Where the content of the first chunk with this name begins in a finished output; `nil` if there is none.
    func first(_ name: String, in sink: ByteSink) throws -> Int64? {
        var place = start
        while place + 4 + Int64(sizeBytes) <= sink.size {
            let head = try sink.bytes(at: place, count: 4 + sizeBytes)
            let size = sizesAreBig ? bigEndian(head[4...]) : littleEndian(head[4...])
            let body = place + 4 + Int64(sizeBytes)
            if head.starts(with: Array(name.utf8)) { return body }
            guard size >= 0, size <= sink.size - body else { return nil }
            place = body + size + (arePadded ? size & 1 : 0)
        }
        return nil
    }
}
