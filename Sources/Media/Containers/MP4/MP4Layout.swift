/// The channel layout in the sample description of QuickTime and MP4.
enum MP4Layout {
    /// The bytes of an audio sample entry behind its header, and those of them that state the number of channels, by the
    /// version of the description.
    private static let descriptions: [Int64: (bytes: Int64, count: Range<Int64>)] = [
        0: (28, 16..<18), 1: (44, 16..<18), 2: (64, 40..<44),
    ]
    private static let mostBoxes = 4096

    /// The speakers of `stream`; `nil` if its sample entry has no layout, or one that is damaged. In a pipe, only a
    /// description at the start is found.
    static func speakers(of stream: InputStream, in source: ByteSource) -> SpeakerOrder? {
        guard let entry = sampleEntry(of: Int64(stream.containerID), in: source),
            let version = source.bytes(at: entry.lowerBound + 8, count: 2), version.count == 2,
            let (fixed, count) = descriptions[bigEndian(version)],
            let stated = source.bytes(at: entry.lowerBound + count.lowerBound, count: count.count),
            let channels = AppleLayout.channelCount(bigEndian(stated)),
            let layout = content("chan", from: entry.lowerBound + fixed, to: entry.upperBound, in: source),
            let bytes = source.bytes(
                at: layout.lowerBound,
                count: min(layout.count, AppleLayout.greatestBytes + 4)
            ), bytes.count > 4
        else { return nil }
        // A version and flags come first.
        return AppleLayout.speakers(Array(bytes[4...]), channelCount: channels)
    }

    /// The content of the first sample entry of the track `id`.
    private static func sampleEntry(of id: Int64, in source: ByteSource) -> Range<Int64>? {
        guard let movie = content("moov", from: 0, to: source.size ?? .max, in: source) else { return nil }
        var place = movie.lowerBound
        while let track = content("trak", from: place, to: movie.upperBound, in: source) {
            place = track.upperBound
            guard let head = content("tkhd", from: track.lowerBound, to: track.upperBound, in: source),
                let bytes = source.bytes(at: head.lowerBound, count: 24), bytes.count == 24
            else { continue }
            let number = bytes[0] == 1 ? 20 : 12
            guard bigEndian(bytes[number..<(number + 4)]) == id else { continue }
            var inner: Range<Int64>? = track
            for name in ["mdia", "minf", "stbl", "stsd"] {
                inner = inner.flatMap { content(name, from: $0.lowerBound, to: $0.upperBound, in: source) }
            }
            // A version and a count come before the entries.
            return inner.flatMap { content(nil, from: $0.lowerBound + 8, to: $0.upperBound, in: source) }
        }
        return nil
    }

    /// The content of the first box with this name, or of the first box, among those from `start` to `end`.
    private static func content(_ name: String?, from start: Int64, to end: Int64, in source: ByteSource)
        -> Range<Int64>?
    {
        var place = start
        for _ in 0..<mostBoxes {
            guard place <= end - 8, let head = source.bytes(at: place, count: 16), head.count >= 8 else {
                return nil
            }
            var (size, headBytes) = (bigEndian(head[0..<4]), Int64(8))
            if size == 1, head.count == 16 { (size, headBytes) = (bigEndian(head[8..<16]), 16) }
            if size == 0 { size = end - place }
            guard size >= headBytes, size <= end - place else { return nil }
            if name.map({ head[4..<8].elementsEqual($0.utf8) }) ?? true { return (place + headBytes)..<(place + size) }
            place += size
        }
        return nil
    }
}
