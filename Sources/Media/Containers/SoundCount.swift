import Conversion

/// The number with which a header counts the bytes of its sound. A container only says where it stands.
struct SoundCount: Hashable {
    /// Where the sound begins.
    let place: Int64
    /// The number that the header states.
    let stated: Int64
    /// Bytes that the number counts beside the sound.
    var besides: Int64 = 0
    var width = Width.bits32
    /// How chunks follow the sound; `nil` if nothing may follow it.
    var chunks: Chunks?

    enum Width { case bits32, bits64 }

    /// Bytes of sound that the header counts.
    var bytes: Int64 { stated &- besides }

    // MARK: Markers

    /// Whether the number marks an unknown length: the header was written before the length was known, by a program that
    /// wrote to a pipe or was killed. The sound then ends with the source.
    var isMarker: Bool { bytes == 0 || Self.isMarker(stated, width) }

    /// Whether a number is zero or among the greatest that fit, possibly less a header or rounded to whole frames.
    ///
    /// ffmpeg writes 0xFFFFFFFF, SoX 0x7FFFF000 into WAV and 0x7F000000 into AIFF, LAME 0x7FFFFFFF, arecord 0x80000000,
    /// GStreamer and libsndfile 0 or 0xFFFFFFFF. As 64 bits, a number is a marker if it is larger than any disk.
    static func isMarker(_ size: Int64, _ width: Width = .bits32) -> Bool {
        switch width {
        case .bits32:
            size == 0 || (0x7EFF_FF00...0x7F00_0100).contains(size) || (0x7FFF_EF00...0x8000_0100).contains(size)
                || (0xFFFF_EF00...0xFFFF_FFFF).contains(size)
        case .bits64: size <= 0 || size >= 1 << 60
        }
    }

    // MARK: What the number means

    enum Meaning: Hashable {
        /// The header counts the sound.
        case counted
        /// The sound ends with the source.
        case unknown
        /// The same, although the header counts less of it.
        case ignored
        /// The sound has this many bytes, which 32 bits cannot hold. The size of the file confirms it.
        case wrapped(Int64)
    }

    /// What the number means in `source`. `isEmpty` if the source proves that it holds no sound.
    func meaning(in source: ByteSource, isEmpty: Bool) -> Meaning {
        if isEmpty || startsAnotherFile(in: source) { return .counted }
        guard let size = source.size else { return isMarker ? .unknown : .counted }
        if bytes > 0, isConfirmed(bytes, by: source, size) { return .counted }
        if isMarker { return .unknown }
        // Chunks behind the sound take less than four gigabytes.
        let wrapped = size < place ? 0 : bytes + ((size - place - bytes) >> 32) << 32
        if width == .bits32, bytes > 0, wrapped > bytes, isConfirmed(wrapped, by: source, size) {
            return .wrapped(wrapped)
        }
        return .counted
    }

    /// Whether a header follows that counts nothing. libsndfile writes it twice to a pipe.
    private func startsAnotherFile(in source: ByteSource) -> Bool {
        guard bytes == 0, let chunks, let head = source.bytes(at: place, count: 4) else { return false }
        return chunks.beginsFile(head)
    }

    /// Whether sound of `bytes` and the chunks behind it fill a file of `size` bytes.
    private func isConfirmed(_ bytes: Int64, by source: ByteSource, _ size: Int64) -> Bool {
        bytes <= size - place && ChunkTrail.uncounted(behind: self, of: bytes, in: source, size) == 0
    }
}

extension SoundCount {
    /// Where bytes that are no chunks begin behind the counted sound of a file; `nil` if there are none.
    func trail(in source: ByteSource) -> Int64? {
        guard bytes > 0, let size = source.size, bytes <= size - place else { return nil }
        let uncounted = ChunkTrail.uncounted(behind: self, of: bytes, in: source, size)
        return uncounted > 0 ? size - uncounted : nil
    }
}

extension Demuxer {
    /// Whether the header of a file counts only a part of what may be sound.
    var countsPartOfItsSound: Bool {
        guard let extent, let bytes = extent.knownUncountedBytes, let stream = streams.first(where: \.isAudio) else {
            return false
        }
        return extent.loss(of: bytes, stream, rate: stream.sampleRateHz) != nil
    }
}

/// How far the sound of a source reaches, by the count in its header and by its size.
struct SoundExtent {
    let count: SoundCount
    let meaning: SoundCount.Meaning
    /// The count that libav must see instead; empty if it reads all sound by itself.
    let patches: [SourcePatch]
    /// Bytes behind the counted sound that are neither chunks nor tags, as far as that is known before the sound is read: in
    /// a file.
    let knownUncountedBytes: Int64?
    /// Sees what follows the counted sound of a pipe.
    private let watch: TrailWatch?
    private let source: ByteSource

    /// `nil` if the container counts no bytes, or its header is too far from the start of a pipe.
    ///
    /// With `ignoringCount`, the sound ends with the source.
    init?(_ source: ByteSource, _ rules: any SourceRules, ignoringCount: Bool = false) {
        guard let count = rules.soundCount(in: source), count.isMarker || count.bytes > 0 else { return nil }
        self.count = count
        self.source = source
        var meaning = count.meaning(in: source, isEmpty: count.isMarker && rules.provesEmpty(source))
        if ignoringCount, meaning == .counted { meaning = .ignored }
        self.meaning = meaning
        switch meaning {
        case .counted: patches = rules.hidingTrail(of: count, in: source)
        case .unknown, .ignored: patches = rules.restating(count, as: source.size.map { $0 - count.place }, in: source)
        case .wrapped(let bytes): patches = rules.restating(count, as: bytes, in: source)
        }
        let knownSize = meaning == .counted ? source.size : nil
        knownUncountedBytes = knownSize.map { size in
            Self.besideTags(source, size) { ChunkTrail.uncounted(behind: count, of: count.bytes, in: source, $0) }
        }
        watch = meaning == .counted && !source.isSeekable ? TrailWatch(count) : nil
        if let watch { source.follow(with: watch) }
    }

    /// The same for a pipe whose header lies far from its start and has passed libav, which saw the count as it is. `nil` if
    /// that marks an unknown length.
    init?(behindHeaderOf source: ByteSource, _ rules: any SourceRules) {
        guard let count = rules.soundCount(in: source), !count.isMarker, count.bytes > 0 else { return nil }
        let watch = TrailWatch(count)
        (self.count, self.source, self.watch) = (count, source, watch)
        (meaning, patches, knownUncountedBytes) = (.counted, [], nil)
        source.follow(with: watch)
    }

    /// Where the sound ends at the latest, if libav sees another count.
    var restatedEnd: Int64? {
        switch meaning {
        case .counted: nil
        case .unknown, .ignored: .max
        case .wrapped(let bytes): count.place + bytes
        }
    }

    /// What `bytes` gives for the end of a source of `size` bytes, or for where the tags at its end begin: programs that know
    /// nothing of chunks append such tags to any file.
    private static func besideTags(_ source: ByteSource, _ size: Int64, _ bytes: (Int64) -> Int64) -> Int64 {
        let all = bytes(size)
        return all > 0 ? min(all, bytes(TagBlocks.soundEnd(of: source, size: size))) : 0
    }

    /// The same as `knownUncountedBytes`, once the sound was read. Reads the rest of a pipe.
    func uncountedBytes() -> Int64 {
        guard meaning == .counted else { return 0 }
        if let known = knownUncountedBytes { return known }
        source.readToEnd()
        guard let watch, let size = source.endSize else { return 0 }
        return Self.besideTags(source, size, watch.uncounted)
    }

    /// What `bytes` behind the counted sound may have been, if that is more than a second; otherwise `nil`.
    func loss(of bytes: Int64, _ stream: InputStream, rate: Int) -> Loss? {
        let isPCM = stream.isPCM && stream.blockAlign > 0
        let perSecond = isPCM ? Int64(stream.blockAlign) * Int64(rate) : Int64(stream.bitRate ?? 0) / 8
        guard perSecond > 0, bytes > perSecond else { return nil }
        let lengths = [count.bytes, count.bytes.addingSaturated(bytes)].map { bytes in
            let frames = Int64(clamping: Int128(bytes) * Int128(rate) / Int128(perSecond))
            return MediaTime(frames: Plausible.boundedFrames(frames), rate: rate)
        }
        let rest = "\(Plural.count(bytes, "byte")) follow that are neither chunks nor tags"
        var loss = Loss.uncounted(lengths[0], of: lengths[1], rest)
        if !source.isSeekable {
            loss.hint =
                "write it to a file and convert that with --on-damage trust-packets; --on-damage skip takes what the "
                + "header counts"
        }
        return loss
    }
}
