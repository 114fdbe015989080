/// A header written before the length of the sound was known, by a program that wrote to a pipe or was killed. Its
/// sizes are placeholders, and the sound ends with the source.
struct StreamedHeader {
    /// Bytes of samples, up to the end of the source.
    let soundBytes: Int64
    /// The true sizes, in the places where libav must see them; empty if libav ignores the placeholders by itself.
    private(set) var patches: [SourcePatch] = []

    /// `nil` for a header that states a length, for other containers, and for pipes.
    init?(_ source: ByteSource, container: String) {
        guard let size = source.size, size > 0 else { return nil }
        let found: StreamedHeader? =
            switch container {
            case "wav": StreamedHeader.wave(source, size)
            case "w64": StreamedHeader.w64(source, size)
            case "aiff": StreamedHeader.aiff(source, size)
            case "au": StreamedHeader.au(source, size)
            case "caf": StreamedHeader.caf(source, size)
            default: nil
            }
        guard let found, found.soundBytes > 0 else { return nil }
        self = found
    }

    private init(soundBytes: Int64, patches: [SourcePatch] = []) {
        self.soundBytes = soundBytes
        self.patches = patches
    }

    /// Whether a 32-bit size is a placeholder: zero, or one of the greatest numbers of 31 or 32 bits, possibly less
    /// a header or rounded to whole frames. SoX writes 0x7F000000 into AIFF.
    static func isPlaceholder(_ size: Int64) -> Bool {
        size == 0 || (0x7EFF_FF00...0x7F00_0100).contains(size) || (0x7FFF_EF00...0x8000_0100).contains(size)
            || (0xFFFF_EF00...0xFFFF_FFFF).contains(size)
    }

    /// The same for 64-bit sizes: zero, negative, or larger than any disk.
    private static func isWidePlaceholder(_ size: Int64) -> Bool { size <= 0 || size >= 1 << 60 }

    private static func wave(_ source: ByteSource, _ size: Int64) -> StreamedHeader? {
        guard let data = chunk("data", in: source, sizesAre: .little), isPlaceholder(data.size) else { return nil }
        let streamed = StreamedHeader(soundBytes: size - data.place)
        guard data.size >= 0xFFFF_FFFE || data.size == 0,
            let wide = chunk("ds64", in: source, sizesAre: .little)?.place,
            let sizes = source.bytes(at: wide, count: 16), sizes.count == 16
        else { return streamed }
        guard isWidePlaceholder(bigEndian(sizes[8..<16].reversed())) else { return nil }
        // In RF64, libav reads as much as ds64 states.
        let patch =
            bigEndianBytes(size - 8, count: 8).reversed() + bigEndianBytes(size - data.place, count: 8).reversed()
        return StreamedHeader(soundBytes: size - data.place, patches: [SourcePatch(place: wide, bytes: patch)])
    }

    /// libav does not accept a W64 with placeholder sizes.
    private static func w64(_ source: ByteSource, _ size: Int64) -> StreamedHeader? {
        var place: Int64 = 40
        for _ in 0..<mostChunks {
            guard let head = source.bytes(at: place, count: 24), head.count == 24 else { return nil }
            let stated = bigEndian(head[16..<24].reversed())
            if head.starts(with: Array("data".utf8)) {
                // A chunk's size includes its header.
                guard isWidePlaceholder(stated) || stated == 24 else { return nil }
                return StreamedHeader(
                    soundBytes: size - place - 24,
                    patches: [
                        SourcePatch(place: 16, bytes: bigEndianBytes(size, count: 8).reversed()),
                        SourcePatch(place: place + 16, bytes: bigEndianBytes(size - place, count: 8).reversed()),
                    ]
                )
            }
            guard stated >= 24, stated < 1 << 40 else { return nil }
            place += (stated + 7) / 8 * 8
        }
        return nil
    }

    /// Another chunk (COMM) states the number of frames, and libav reads no more than that.
    private static func aiff(_ source: ByteSource, _ size: Int64) -> StreamedHeader? {
        guard let sound = chunk("SSND", in: source, sizesAre: .big), isPlaceholder(sound.size),
            let common = chunk("COMM", in: source, sizesAre: .big)?.place,
            let shape = source.bytes(at: common, count: 22), shape.count >= 18,
            let offset = source.bytes(at: sound.place, count: 4), offset.count == 4
        else { return nil }
        let (channels, bits) = (bigEndian(shape[0..<2]), bigEndian(shape[6..<8]))
        let isIMA = shape.count == 22 && shape[18...].elementsEqual("ima4".utf8)
        let frameBytes = channels * (isIMA ? 34 : (bits + 7) / 8)
        let soundBytes = size - sound.place - 8 - bigEndian(offset[0..<4])
        guard frameBytes > 0, soundBytes > 0, size < 1 << 32 else { return nil }
        return StreamedHeader(
            soundBytes: soundBytes,
            patches: [
                SourcePatch(place: 4, bytes: bigEndianBytes(size - 8, count: 4)),
                SourcePatch(place: common + 2, bytes: bigEndianBytes(soundBytes / frameBytes, count: 4)),
                SourcePatch(place: sound.place - 4, bytes: bigEndianBytes(size - sound.place, count: 4)),
            ]
        )
    }

    private static func au(_ source: ByteSource, _ size: Int64) -> StreamedHeader? {
        guard let head = source.bytes(at: 0, count: 12), head.count == 12, head.starts(with: Array(".snd".utf8)),
            isPlaceholder(bigEndian(head[8..<12]))
        else { return nil }
        return StreamedHeader(soundBytes: size - bigEndian(head[4..<8]))
    }

    /// The data chunk begins with an edit count of four bytes.
    private static func caf(_ source: ByteSource, _ size: Int64) -> StreamedHeader? {
        var place: Int64 = 8
        for _ in 0..<mostChunks {
            guard let head = source.bytes(at: place, count: 12), head.count == 12 else { return nil }
            let stated = bigEndian(head[4..<12])
            if head.starts(with: Array("data".utf8)) {
                return stated == -1 ? StreamedHeader(soundBytes: size - place - 16) : nil
            }
            guard stated >= 0, stated < 1 << 40 else { return nil }
            place += 12 + stated
        }
        return nil
    }

    // MARK: Chunks

    private enum ByteOrder { case little, big }

    /// Such files have a dozen chunks. A file with more than a thousand was made to waste time.
    private static let mostChunks = 1000

    /// Finds a chunk of a RIFF or IFF file. `place` is where its content begins.
    private static func chunk(
        _ name: String,
        in source: ByteSource,
        sizesAre order: ByteOrder
    ) -> (place: Int64, size: Int64)? {
        var place: Int64 = 12
        for _ in 0..<mostChunks {
            guard let head = source.bytes(at: place, count: 8), head.count == 8 else { return nil }
            let size = order == .big ? bigEndian(head[4..<8]) : bigEndian(head[4..<8].reversed())
            if head.starts(with: Array(name.utf8)) { return (place + 8, size) }
            place += 8 + size + size & 1
        }
        return nil
    }
}
