/// The seek table of a FLAC source, which holds for an output with the same frames.
struct FLACSeekTable {
    private let content: [UInt8]
    /// The bytes of all frames. Places in the table count from the first one.
    private let soundBytes: Int64

    private static let kind: UInt8 = 3
    private static let padding: UInt8 = 1
    /// A point has 18 bytes. `flac` writes one for ten seconds.
    private static let pointBytes: Int64 = 18
    private static let mostBytes: Int64 = 1 << 20
    /// What libav leaves for later tags without being asked.
    private static let usualPadding = 8_192

    /// `nil` if the source has none, or one that cannot be kept.
    init?(in source: ByteSource) {
        guard source.isSeekable, let size = source.size,
            let place = FLACBlocks.first(Self.kind, in: source, size), place.count > 0, place.count <= Self.mostBytes,
            Int64(place.count) % Self.pointBytes == 0,
            let content = source.bytes(at: place.lowerBound, count: place.count), content.count == place.count
        else { return nil }
        self.content = content
        var start: Int64 = 0
        FLACBlocks.each(in: source, size) { _, content in
            start = content.upperBound
            return true
        }
        soundBytes = TagBlocks.soundEnd(of: source, size: size) - start
    }

    /// What libav must leave free, so that the table fits and as much is left as usual.
    var muxerOptions: [(String, String)] {
        [("metadata_header_padding", "\(content.count + 4 + Self.usualPadding)")]
    }

    /// Puts the table in front of the padding of a finished output. Without the same bytes of sound, it would be wrong.
    func write(to sink: ByteSink) throws {
        var (place, free): (Int64, (place: Int64, size: Int, isLast: UInt8)?) = (4, nil)
        while true {
            let head = try sink.bytes(at: place, count: 4)
            guard head.count == 4 else { throw sink.malformed("the blocks of FLAC have no end") }
            let size = Int(bigEndian(head[1...]))
            if head[0] & 0x7F == Self.padding { free = (place, size, head[0] & 0x80) }
            place += 4 + Int64(size)
            if head[0] & 0x80 != 0 { break }
        }
        guard let free, free.size >= content.count + 4, sink.size - place == soundBytes else { return }
        let rest = bigEndianBytes(Int64(free.size - content.count - 4), count: 3)
        var bytes: [UInt8] = [Self.kind] + bigEndianBytes(Int64(content.count), count: 3)
        bytes += content
        bytes += [Self.padding | free.isLast] + rest
        try sink.patch(bytes, at: free.place)
    }
}
