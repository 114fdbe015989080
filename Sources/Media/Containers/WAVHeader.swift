import Conversion

/// The header of a WAV file, and what libav must see where it would misread it.
struct WAVHeader {
    /// Whether the most significant byte of every number and sample comes first: RIFX.
    let isBigEndian: Bool
    private let source: ByteSource
    private let chunks: Chunks
    /// Where the chunk begins that describes the samples, and its first bytes.
    private let place: Int64
    private let format: [UInt8]

    /// `nil` if there is no header, or if it is too far from the start of a pipe.
    init?(_ source: ByteSource) {
        let chunks = Self.chunks(of: source)
        guard let found = chunks.first("fmt ", in: source), let format = source.bytes(at: found.place, count: 40),
            format.count >= 16
        else { return nil }
        self.source = source
        self.chunks = chunks
        isBigEndian = chunks.sizesAreBig
        place = found.place
        self.format = Array(format.prefix(Int(max(16, min(found.size, 40)))))
    }

    static func chunks(of source: ByteSource) -> Chunks {
        source.bytes(at: 0, count: 4)?.elementsEqual("RIFX".utf8) == true ? .rifx : .riff
    }

    var isExtensible: Bool { number(0, 2) == 0xFFFE }

    private func number(_ offset: Int, _ count: Int) -> Int64 {
        let bytes = format[offset..<offset + count]
        return isBigEndian ? bigEndian(bytes) : littleEndian(bytes)
    }

    func patches() throws -> [SourcePatch] {
        let others = try furtherSound() + shortLists
        if isBigEndian { return turned + others }
        return (Self.alignment(of: format).map { [SourcePatch(place: place + 12, bytes: $0)] } ?? []) + others
    }

    // MARK: Alignment

    /// The right size of a frame of PCM, as the little-endian `format` has to state it; `nil` if it states it.
    ///
    /// The size can differ from what the bits of a sample need, because samples of 20 or 24 bits may fill four bytes.
    /// It is wrong if the samples do not fit in, or if the bytes per second say so. Players ignore it, but libav and
    /// we cut the sound by it.
    static func alignment(of format: [UInt8]) -> [UInt8]? {
        guard format.count >= 16 else { return nil }
        func number(_ offset: Int, _ count: Int) -> Int64 { littleEndian(format[offset..<offset + count]) }
        let tag = number(0, 2) == 0xFFFE && format.count >= 26 ? number(24, 2) : number(0, 2)
        let (channels, rate) = (number(2, 2), number(4, 4))
        let frame = channels * ((number(14, 2) + 7) / 8)
        guard [1, 3, 6, 7].contains(tag), channels > 0, (1..<1 << 16).contains(frame), number(12, 2) != frame,
            number(12, 2) < frame || number(8, 4) == rate * frame
        else { return nil }
        return bigEndianBytes(frame, count: 2).reversed()
    }

    // MARK: Byte order

    /// The header with the least significant byte first, as libav reads all of it.
    private var turned: [SourcePatch] {
        var patches = [SourcePatch(place: 0, bytes: Array("RIFF".utf8))]
        func turn(_ place: Int64, _ count: Int) {
            guard let bytes = source.bytes(at: place, count: count), bytes.count == count else { return }
            patches.append(SourcePatch(place: place, bytes: bytes.reversed()))
        }
        turn(4, 4)
        chunks.each(in: source) { name, body, size in
            turn(body - 4, 4)
            if name.elementsEqual("fact".utf8) { turn(body, 4) }
            if name.elementsEqual("LIST".utf8) {
                chunks.each(in: source, from: body + 4) { _, item, _ in
                    guard item <= body + size else { return false }
                    turn(item - 4, 4)
                    return true
                }
            }
            return true
        }
        patches.append(SourcePatch(place: place, bytes: turnedFormat))
        return patches
    }

    private var turnedFormat: [UInt8] {
        var (turned, offset): ([UInt8], Int) = ([], 0)
        for count in [2, 2, 4, 4, 2, 2, 2, 2, 4] where offset + count <= format.count {
            turned += format[offset..<offset + count].reversed()
            offset += count
        }
        if format.count == 40 {
            // SoX writes the codec in two bytes of the identifier, other programs in four.
            let tag = max(bigEndian(format[24..<26]), bigEndian(format[26..<28]))
            turned += Array(bigEndianBytes(tag, count: 2).reversed()) + Self.identifier
        }
        if let right = Self.alignment(of: turned) { turned.replaceSubrange(12..<14, with: right) }
        return turned
    }

    /// What follows the codec in its identifier.
    private static let identifier: [UInt8] = [0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71]

    // MARK: Short chunks

    /// Hides lists without a type, as some editors write them. libav refuses the file for them.
    private var shortLists: [SourcePatch] {
        var patches: [SourcePatch] = []
        chunks.each(in: source) { name, body, size in
            if size < 4, name.elementsEqual("LIST".utf8) {
                patches.append(SourcePatch(place: body - 8, bytes: Array("junk".utf8)))
            }
            // What follows sound of an unknown length cannot be told from it, and libav does not look behind that of a pipe.
            return !name.elementsEqual("data".utf8) || source.isSeekable && !SoundCount.isMarker(size)
        }
        return patches
    }

    // MARK: Several chunks of sound

    /// Hides empty chunks behind the first. libav takes the last one for the sound, and would leave out the others.
    private func furtherSound() throws -> [SourcePatch] {
        guard source.isSeekable, let first = chunks.first("data", in: source), first.size > 0,
            !SoundCount.isMarker(first.size)
        else { return [] }
        var (patches, isAlone): ([SourcePatch], Bool) = ([], true)
        chunks.each(in: source, from: first.place - 8) { name, body, size in
            guard name.elementsEqual("data".utf8), body > first.place else { return true }
            isAlone = size == 0
            patches.append(SourcePatch(place: body - 8, bytes: Array("junk".utf8)))
            return isAlone
        }
        guard isAlone else {
            throw MediaError(
                .unreadableContainer,
                at: .open,
                "the WAV file has more than one data chunk, and players differ in which of them they play",
                hint: "join the chunks into one"
            )
        }
        return patches
    }
}
