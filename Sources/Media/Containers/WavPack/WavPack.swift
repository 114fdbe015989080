import Conversion

/// WavPack.
struct WavPack: ContainerRules, BlockRules {
    let packets = PacketTraits(clock: .frameNumbers, landing: .byByte)

    /// libav reads the first block of several channels twice, and those of an unusual rate up to the first packet.
    let opening = OpeningTraits(readsStartTwice: true)

    /// libav decodes the first block while it opens the file.
    func headerPatches(in source: ByteSource) throws -> [SourcePatch] {
        guard let (place, bytes) = naming(in: source) else { return [] }
        return [SourcePatch(place: Int64(place), bytes: bytes)]
    }

    /// Of more than two channels that name no speakers, those that libav saw instead were any.
    func speakers(of stream: InputStream, in source: ByteSource) -> SpeakerOrder? {
        guard stream.channelCount > 2, let (_, bytes) = naming(in: source), case let count = Int(bytes[2]), count > 2
        else { return nil }
        return SpeakerOrder(Array(repeating: nil, count: count))
    }

    private func naming(in source: ByteSource) -> (place: Int, bytes: [UInt8])? {
        source.bytes(at: 0, count: 64 * 1024)?.withUnsafeBytes(WavPackBlock.naming)
    }

    func length(_ stated: StatedLength, of stream: InputStream, in demuxer: Demuxer) -> LengthPromise {
        .counted(stated)
    }

    var blocks: (any BlockRules)? { self }

    func nextStart(in source: ByteSource, behind place: Int64) -> Int64? {
        WavPackSync.next(in: source, from: place + 1)
    }
}

/// As an output.
extension WavPack {
    func muxerName(_ format: ResolvedFormat) -> String { "wv" }

    // MARK: Tags for outputs

    var tagFormat: TagFormat? { .ape }

    func keepsValues(of name: String) -> Bool { true }

    /// `patch` writes all of them, and the chapters as a CUE sheet, unless the source has one.
    func prepared(_ tags: [Tag]) -> [Tag] { [] }

    func takes(name: String) -> Bool { APETag.takes(name: name) }

    /// Beside them are also the chapters, which take less than the longest sheet.
    func pictureRoom(beside tags: [Tag]) -> PictureRoom {
        PictureRoom(all: APETag.mostBytes - CueSheetTag.mostBytes - APETag.bytes(tags, pictures: []).count)
    }

    func patch(_ sink: ByteSink, _ format: ResolvedFormat, _ facts: WrittenFacts) throws {
        var tags = facts.tags.filter { !$0.isTechnical }
        if !tags.contains(where: CueSheetTag.isSheet) { tags += CueSheetTag.tag(facts.chapters).map { [$0] } ?? [] }
        let tag = APETag.bytes(tags, pictures: facts.pictures)
        if !tag.isEmpty { try sink.patch(tag, at: sink.size) }
    }
}

/// Finds WavPack blocks after damage.
enum WavPackSync {
    private static let windowBytes = 64 * 1024

    /// The first place from `start` on where a block begins that is followed by another block or by the end.
    static func next(in source: ByteSource, from start: Int64) -> Int64? {
        guard let size = source.size else { return nil }
        let soundEnd = TagBlocks.soundEnd(of: source, size: size)
        var place = start
        while let window = source.bytes(at: place, count: windowBytes), window.count >= 32 {
            for offset in 0...(window.count - 32) where window[offset] == 0x77 {
                guard let length = blockLength(window[offset...]) else { continue }
                let end = place + Int64(offset + length)
                let following = source.bytes(at: end, count: 32)
                if end == soundEnd || following.flatMap({ blockLength($0[...]) }) != nil {
                    return place + Int64(offset)
                }
            }
            place += Int64(window.count - 31)
        }
        return nil
    }

    /// Length in bytes of the block whose header starts `bytes`.
    private static func blockLength(_ bytes: ArraySlice<UInt8>) -> Int? {
        guard bytes.count >= 32, bytes.starts(with: [0x77, 0x76, 0x70, 0x6B]) else { return nil }
        let first = bytes.startIndex
        let length = (0..<4).reduce(0) { $0 | Int(bytes[first + 4 + $1]) << (8 * $1) } + 8
        let version = Int(bytes[first + 8]) | Int(bytes[first + 9]) << 8
        return (0x402...0x410).contains(version) && length >= 32 && length < 1 << 20 ? length : nil
    }
}
