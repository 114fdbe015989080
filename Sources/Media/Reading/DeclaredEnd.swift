/// The end that a container's header declares, for containers whose length libav reads too coarsely or not at all.
enum DeclaredEnd {
    /// Whether a source ends before the end that its container declares. `false` if the size was never filled in.
    static func isCut(_ source: ByteSource, container: String) -> Bool {
        guard let size = source.size else { return false }
        if container == "rm" { return lacksRealMediaPackets(source, size) }
        guard let end = end(of: source, container) else { return false }
        // Some writers omit the byte that pads the last chunk to an even size.
        return end > size + 1
    }

    private static func end(of source: ByteSource, _ container: String) -> Int64? {
        switch container {
        case "avi", "qcp": whole(source, sizeIsBig: false)
        case "aiff", "iff", "mmf": whole(source, sizeIsBig: true)
        case "wav": waveData(source)
        default: nil
        }
    }

    /// The end of a file that consists of one chunk.
    private static func whole(_ source: ByteSource, sizeIsBig: Bool) -> Int64? {
        guard let head = source.bytes(at: 0, count: 8), head.count == 8 else { return nil }
        let stated = bigEndian(sizeIsBig ? head[4..<8] : ArraySlice(head[4..<8].reversed()))
        return StreamedHeader.isPlaceholder(stated) ? nil : stated + 8
    }

    /// The end of a WAV file's sound.
    private static func waveData(_ source: ByteSource) -> Int64? {
        var place: Int64 = 12
        for _ in 0..<mostChunks {
            guard let head = source.bytes(at: place, count: 8), head.count == 8 else { return nil }
            let stated = bigEndian(head[4..<8].reversed())
            if head.starts(with: Array("data".utf8)) {
                return StreamedHeader.isPlaceholder(stated) ? nil : place + 8 + stated
            }
            place += 8 + stated + stated & 1
        }
        return nil
    }

    /// Such files have a dozen chunks. A file with more than a thousand was made to waste time.
    private static let mostChunks = 1000

    // MARK: RealMedia

    /// Whether a RealMedia file ends before the last packet that its header counts. The size in the header does not
    /// help: libav writes it ten bytes too large.
    private static func lacksRealMediaPackets(_ source: ByteSource, _ size: Int64) -> Bool {
        var place: Int64 = 0
        for _ in 0..<mostChunks {
            guard let head = source.bytes(at: place, count: 14), head.count == 14 else { return false }
            if head.starts(with: Array("DATA".utf8)) {
                return packetsEnd(source, from: place + 18, count: bigEndian(head[10..<14]), size)
            }
            let stated = bigEndian(head[4..<8])
            guard stated > 0 else { return false }
            place += stated
        }
        return false
    }

    /// Whether the source ends within the next `count` packets, or directly after a packet that is not the last of
    /// them. `false` as soon as something other than a packet follows, such as an index.
    private static func packetsEnd(_ source: ByteSource, from start: Int64, count: Int64, _ size: Int64) -> Bool {
        var place = start
        // Packets may be small, so they are read in windows of many.
        var (window, windowStart) = ([UInt8](), Int64(0))
        for _ in 0..<count {
            guard place + 4 <= size else { return true }
            if place + 4 > windowStart + Int64(window.count) {
                guard let bytes = source.bytes(at: place, count: 1 << 16), bytes.count >= 4 else { return false }
                (window, windowStart) = (bytes, place)
            }
            let head = window[Int(place - windowStart)...].prefix(4)
            let length = bigEndian(head.suffix(2))
            guard bigEndian(head.prefix(2)) <= 1, length >= 12 else { return false }
            place += length
        }
        return place > size
    }
}
