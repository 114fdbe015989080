/// RealMedia.
struct RealMedia: SourceRules {
    func length(_ stated: StatedLength, of stream: InputStream, in demuxer: Demuxer) -> LengthPromise {
        .ofLongestTrack(in: demuxer, stream)
    }

    /// Whether the file ends before the last packet that its header counts. The size in the header does not help:
    /// libav writes it ten bytes too large.
    func isCut(_ source: ByteSource, _ stream: InputStream) -> Bool {
        guard let size = source.size else { return false }
        var place: Int64 = 0
        for _ in 0..<Chunks.most {
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
    private func packetsEnd(_ source: ByteSource, from start: Int64, count: Int64, _ size: Int64) -> Bool {
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
