/// The channel layout in the sample description of QuickTime and MP4.
enum MP4Layout {
    /// The bytes of an audio sample entry behind its header, and those of them that state the number of channels, by the
    /// version of the description.
    private static let descriptions: [Int64: (bytes: Int64, count: Range<Int64>)] = [
        0: (28, 16..<18), 1: (44, 16..<18), 2: (64, 40..<44),
    ]

    /// The speakers of `stream`; `nil` if its sample entry has no layout, or one that is damaged.
    static func speakers(of stream: InputStream, in source: ByteSource) -> SpeakerOrder? {
        guard let entry = sampleEntry(of: stream.containerID, in: source),
            let version = source.bytes(at: entry.lowerBound + 8, count: 2), version.count == 2,
            let (fixed, count) = descriptions[bigEndian(version)], fixed <= entry.count,
            let stated = source.bytes(at: entry.lowerBound + count.lowerBound, count: count.count),
            let channels = AppleLayout.channelCount(bigEndian(stated)),
            let layout = source.box("chan", in: (entry.lowerBound + fixed)..<entry.upperBound),
            let bytes = source.bytes(
                at: layout.lowerBound,
                count: min(layout.count, AppleLayout.greatestBytes + 4)
            ), bytes.count > 4
        else { return nil }
        // A version and flags come first.
        return AppleLayout.speakers(Array(bytes[4...]), channelCount: channels)
    }

    /// The content of the first sample entry of the track `id`.
    private static func sampleEntry(of id: Int, in source: ByteSource) -> Range<Int64>? {
        var inner = source.box("moov", in: source.boxRange).flatMap { source.track(id, in: $0) }
        for name in ["mdia", "minf", "stbl", "stsd"] { inner = inner.flatMap { source.box(name, in: $0) } }
        // A version and a count come before the entries.
        guard let inner, inner.count > 8 else { return nil }
        return source.eachBox(in: (inner.lowerBound + 8)..<inner.upperBound) { $1 }
    }
}
