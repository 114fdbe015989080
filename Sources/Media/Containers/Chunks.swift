/// A file of chunks, each with a name of four characters and a size: RIFF, IFF and their relatives.
struct Chunks: Hashable {
    /// Where the first chunk begins.
    let start: Int64
    /// Bytes of a size, and whether the most significant comes first.
    let sizeBytes: Int
    let sizesAreBig: Bool
    /// Whether a byte of padding follows a chunk of odd size.
    let arePadded: Bool
    /// W64: names have 16 bytes, sizes include the head, and chunks are aligned to eight bytes.
    var areWide = false

    static let riff = Chunks(start: 12, sizeBytes: 4, sizesAreBig: false, arePadded: true)
    /// RIFF with the most significant byte first.
    static let rifx = Chunks(start: 12, sizeBytes: 4, sizesAreBig: true, arePadded: true)
    static let iff = Chunks(start: 12, sizeBytes: 4, sizesAreBig: true, arePadded: true)

    /// Such files have a dozen chunks. A file with more than a thousand was made to waste time.
    static let most = 1000

    /// The first chunk with this name: where its content begins, and the size that it states. In a pipe, only chunks
    /// in the first 64 KiB are found.
    func first(_ name: String, in source: ByteSource) -> (place: Int64, size: Int64)? {
        var found: (place: Int64, size: Int64)?
        each(in: source) { other, place, size in
            if other.elementsEqual(name.utf8) { found = (place, size) }
            return found == nil
        }
        return found
    }

    /// Whether a chunk with this name lies in front of all with the other name.
    func has(_ name: String, before other: String, in source: ByteSource) -> Bool {
        var isFound = false
        each(in: source) { found, _, _ in
            isFound = found.elementsEqual(name.utf8)
            return !isFound && !found.elementsEqual(other.utf8)
        }
        return isFound
    }

    /// Calls `visit` with the name of each chunk, where its content begins, and the size that it states, until it
    /// returns `false`. RF64 states the size of its sound in another chunk. If that is unset, the walk ends with the sound.
    func each(
        in source: ByteSource,
        from start: Int64? = nil,
        most: Int = Chunks.most,
        _ visit: (ArraySlice<UInt8>, Int64, Int64) -> Bool
    ) {
        var place = start ?? self.start
        var soundBytes: Int64?
        for _ in 0..<most {
            guard let head = source.bytes(at: place, count: 4 + sizeBytes), head.count == 4 + sizeBytes else {
                return
            }
            let size = sizesAreBig ? bigEndian(head[4...]) : littleEndian(head[4...])
            let body = place + 4 + Int64(sizeBytes)
            guard visit(head[..<4], body, size) else { return }
            if head.starts(with: "ds64".utf8) { soundBytes = wideSize(in: source, at: body) }
            var bytes = size
            if let soundBytes, head.starts(with: "data".utf8), size == 0 || size >= 0xFFFF_FFFE {
                if SoundCount.isMarker(soundBytes, .bits64) { return }
                bytes = soundBytes
            }
            guard bytes >= 0, body < Int64.max - bytes - 1 else { return }
            place = body + bytes + (arePadded ? bytes & 1 : 0)
        }
    }

    /// The bytes of sound that the chunk ds64 of RF64 states behind those of the file.
    private func wideSize(in source: ByteSource, at place: Int64) -> Int64? {
        guard sizeBytes == 4, !sizesAreBig, let sizes = source.bytes(at: place, count: 16), sizes.count == 16 else {
            return nil
        }
        return littleEndian(sizes[8...])
    }

    /// Whether a file that is one chunk is shorter than that chunk. `false` if the size was never filled in.
    func areCut(_ source: ByteSource) -> Bool {
        guard let head = source.bytes(at: 0, count: 8), head.count == 8 else { return false }
        let stated = sizesAreBig ? bigEndian(head[4...]) : littleEndian(head[4...])
        return SoundCount.isMarker(stated) ? false : Chunks.end(stated + 8, isBehind: source)
    }

    /// Whether the chunks end exactly where the source does, and all have names that can be read. Samples that follow a
    /// header with an unset size do not look like that, not even digital silence.
    func fill(_ source: ByteSource) -> Bool {
        guard let end = source.endSize else { return false }
        var place = start
        for _ in 0..<Self.most {
            // Some writers omit the byte that pads the last chunk.
            if place >= end { return true }
            guard let head = source.bytes(at: place, count: 4 + sizeBytes), head.count == 4 + sizeBytes,
                head[..<4].allSatisfy({ (0x20...0x7E).contains($0) })
            else { return false }
            let size = sizesAreBig ? bigEndian(head[4...]) : littleEndian(head[4...])
            let body = place + 4 + Int64(sizeBytes)
            guard (0...max(0, end - body)).contains(size) else { return false }
            place = body + size + (arePadded ? size & 1 : 0)
        }
        return false
    }

    /// Whether a file that is one chunk ends exactly where its own size says, and the chunks in it do, too.
    func areComplete(in source: ByteSource) -> Bool {
        guard let size = source.endSize, let head = source.bytes(at: 0, count: 8), head.count == 8 else { return false }
        return (sizesAreBig ? bigEndian(head[4...]) : littleEndian(head[4...])) + 8 == size && fill(source)
    }

    /// Whether `end`, which a header states, lies behind the end of the source.
    static func end(_ end: Int64, isBehind source: ByteSource) -> Bool {
        // Some writers omit the byte that pads the last chunk to an even size.
        source.endSize.map { end > $0 + 1 } ?? false
    }

    // MARK: Behind the sound

    /// Bytes of the name and the size of a chunk.
    var headBytes: Int { (areWide ? 16 : 4) + sizeBytes }

    /// Chunks begin at multiples of this.
    var alignment: Int64 { areWide ? 8 : arePadded ? 2 : 1 }

    /// Bytes of padding behind a chunk of `size` bytes.
    func padding(behind size: Int64) -> Int64 { (alignment - size % alignment) % alignment }

    /// Where the chunk ends that follows the sound and begins at `place` with `head`, padding included; `nil` if that is
    /// no chunk, begins another file, or holds further sound.
    func end(ofTrailing head: [UInt8], at place: Int64) -> Int64? {
        let name = head.prefix(4)
        guard head.count == headBytes, name.allSatisfy({ (0x20...0x7E).contains($0) }) else { return nil }
        let digits = head.suffix(sizeBytes)
        let stated = sizesAreBig ? bigEndian(digits) : littleEndian(digits)
        let size = areWide ? stated &- Int64(headBytes) : stated
        let text = String(decoding: name, as: UTF8.self)
        guard (0..<1 << 60).contains(size), !Self.files.contains(text), size == 0 || !Self.sounds.contains(text) else {
            return nil
        }
        return place + Int64(headBytes) + size + padding(behind: size)
    }

    /// Whether a file of chunks begins with `head`.
    func beginsFile(_ head: [UInt8]) -> Bool { Self.files.contains(String(decoding: head, as: UTF8.self)) }

    /// The first bytes of files of sound, which may have been joined.
    private static let files: Set<String> = ["RIFF", "RIFX", "RF64", "BW64", "FORM", "caff", "riff", ".snd"]
    private static let sounds: Set<String> = ["data", "SSND"]

    /// Chunks of tags and notes: even if one is cut, it is no sound.
    static let tags: Set<String> = [
        "LIST", "list", "id3 ", "ID3 ", "bext", "iXML", "axml", "_PMX", "cue ", "smpl", "JUNK", "junk", "PAD ", "FLLR",
        "fact", "DISP", "afsp", "ANNO", "AUTH", "NAME", "(c) ", "COMT", "MARK", "INST", "APPL", "info", "free", "uuid",
    ]
}
