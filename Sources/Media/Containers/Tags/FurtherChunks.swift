import Conversion

/// Adds chunks to the end of a finished AIFF, CAF or WAV output.
enum FurtherChunks {
    struct Chunk {
        let name: String
        let content: [UInt8]
    }

    /// `frames` is the length of the sound, which RF64 states.
    static func append(_ further: [Chunk], to sink: ByteSink, _ chunks: Chunks, frames: Int64) throws {
        guard !further.isEmpty else { return }
        // Apart from those of CAF, chunks begin at even places.
        var bytes: [UInt8] = chunks.arePadded && sink.size % 2 == 1 ? [0] : []
        for chunk in further {
            let size = bigEndianBytes(Int64(chunk.content.count), count: chunks.sizeBytes)
            bytes += Array(chunk.name.utf8)
            bytes += chunks.sizesAreBig ? size : size.reversed()
            bytes += chunk.content
            if chunks.arePadded, chunk.content.count % 2 == 1 { bytes.append(0) }
        }
        try sink.patch(bytes, at: sink.size)
        // CAF does not state its size.
        if chunks == CAF.chunks { return }
        if chunks.sizesAreBig { try restateFORM(sink) } else { try restateRIFF(sink, frames) }
    }

    private static func restateFORM(_ sink: ByteSink) throws {
        guard sink.size - 8 <= Int64(UInt32.max) else {
            let detail = "the file has no room for its tags and chapters"
            throw MediaError(.outputTooLarge, at: .finish, detail, hint: "use WAV (RF64) or CAF")
        }
        try sink.patch(bigEndianBytes(sink.size - 8, count: 4), at: 4)
    }

    private static func restateRIFF(_ sink: ByteSink, _ frames: Int64) throws {
        let head = try sink.bytes(at: 0, count: 20)
        if head.starts(with: Array("RF64".utf8)) { return try sink.patch(little(sink.size - 8, 8), at: 20) }
        guard head.starts(with: Array("RIFF".utf8)) else { throw sink.malformed("no RIFF header") }
        if sink.size - 8 <= Int64(UInt32.max) { return try sink.patch(little(sink.size - 8, 4), at: 4) }
        // The chunks make the file too large for RIFF. libav has left room for the sizes of RF64.
        let room: [UInt8] = Array("JUNK".utf8) + [28, 0, 0, 0]
        guard Array(head[12...]) == room, let data = try Chunks.riff.first("data", in: sink) else {
            throw sink.malformed("no room for the sizes of RF64")
        }
        let sound = littleEndian(try sink.bytes(at: data - 4, count: 4))
        var sizes: [UInt8] = Array("ds64".utf8) + [28, 0, 0, 0]
        sizes += little(sink.size - 8, 8)
        sizes += little(sound, 8)
        sizes += little(frames, 8)
        sizes += [0, 0, 0, 0]
        let unset: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF]
        try sink.patch(sizes, at: 12)
        try sink.patch(Array("RF64".utf8) + unset, at: 0)
        try sink.patch(unset, at: data - 4)
    }

    private static func little(_ value: Int64, _ count: Int) -> [UInt8] {
        bigEndianBytes(value, count: count).reversed()
    }
}
