import Conversion

/// Creative Voice File, whose blocks hold samples, silence and repetitions.
struct VOC: SourceRules {
    /// Blocks divide the samples, so their places do not follow from their numbers, and libav counts what is left of a block.
    let packets = PacketTraits(jump: .never, mayLandInEdits: false)

    /// libav takes the empty block behind a repetition for one that fills the rest of the file. It sees the block before it
    /// go on to its end.
    func headerPatches(in source: ByteSource) throws -> [SourcePatch] { VOCBlocks(source).patches }

    /// libav leaves out silence and repetitions, and plays all blocks at the rate of the first.
    func facts(of stream: InputStream, in demuxer: Demuxer) -> ContainerFacts? {
        let blocks = VOCBlocks(demuxer.source)
        if blocks.rates.count > 1 {
            let rates = blocks.rates.sorted().map { Figures.hertz($0) }.joined(separator: ", ")
            return ContainerFacts(refusal: .editList("the blocks have several sample rates: \(rates)"))
        }
        guard blocks.needsTimeLine else { return nil }
        guard blocks.isWhole else {
            let refusal = ContainerFacts.Refusal(
                code: .sourceNotSeekable,
                stage: .open,
                detail: "the file has silence or repetitions, and a pipe does not show all of them at its start",
                hint: "read it from a file"
            )
            return ContainerFacts(refusal: refusal)
        }
        let width = Int64(stream.pcmBytesPerFrame)
        guard stream.isPCM, width > 0 else {
            return ContainerFacts(refusal: .editList("the file has silence or repetitions between compressed samples"))
        }
        guard let pieces = blocks.pieces(ofFrames: width, rate: stream.sampleRateHz),
            let edits = EditedTime(pieces, of: .exact(blocks.soundBytes / width))
        else { return ContainerFacts(refusal: .editList("the repetitions are longer than any recording")) }
        return ContainerFacts(edits: edits)
    }
}

/// The blocks of a VOC file.
struct VOCBlocks {
    private enum Block {
        /// Bytes of samples.
        case sound(Int64)
        /// Bytes that libav takes for samples.
        case noSound(Int64)
        case silence(MediaTime)
        /// How often the blocks up to the next `repeatEnd` are played.
        case repeatStart(Int)
        case repeatEnd
    }

    private var blocks: [Block] = []
    /// What libav must see of sizes.
    private(set) var patches: [SourcePatch] = []
    /// The sample rates of all blocks of samples.
    private(set) var rates: Set<Int> = []
    /// Whether all blocks were seen.
    private(set) var isWhole = false

    private static let headBytes: Int64 = 4
    private static let most = 100_000
    private static let mostPieces = 10_000
    /// The count of a repetition without end, which is played once.
    private static let endless = 0xFFFF

    init(_ source: ByteSource) { read(source) }

    private mutating func read(_ source: ByteSource) {
        guard let head = source.bytes(at: 20, count: 2), head.count == 2 else { return }
        var place = littleEndian(head)
        var rateAhead: Int?
        // The last block whose size libav sees.
        var before: (place: Int64, size: Int64, isSound: Bool)?
        for _ in 0..<Self.most {
            guard let start = source.bytes(at: place, count: 16), let type = start.first else {
                isWhole = source.size.map { place >= $0 } ?? false
                return
            }
            if type == 0 { return isWhole = true }
            guard start.count >= 4 else { return isWhole = source.size != nil }
            let size = littleEndian(start[1..<4])
            let body = start.dropFirst(4).prefix(Int(min(size == 0 ? 12 : size, 12))).map { $0 }
            // libav takes a block of samples without a size for the rest of the file.
            let rest = size == 0 ? (source.size ?? 0) - place - Self.headBytes : size
            defer { place += Self.headBytes + size }
            if type == 7, size == 0 {
                blocks.append(.repeatEnd)
                guard var seen = before else { continue }
                seen.size += Self.headBytes
                before = seen
                patches.append(
                    SourcePatch(place: seen.place + 1, bytes: bigEndianBytes(seen.size, count: 3).reversed())
                )
                if seen.isSound { blocks.append(.noSound(Self.headBytes)) }
                continue
            }
            before = (place, size, [1, 2, 9].contains(type))
            switch (type, body.count) {
            case (1, 2...):
                rates.insert(rateAhead ?? 1_000_000 / (256 - Int(body[0])))
                rateAhead = nil
                blocks.append(.sound(max(0, rest - 2)))
                if size == 0 { return isWhole = source.size != nil }
            case (2, _): blocks.append(.sound(size))
            case (3, 3...):
                let frames = littleEndian(body[0..<2]) + 1
                blocks.append(.silence(MediaTime(value: frames * Int64(256 - Int(body[2])), timescale: 1_000_000)))
            case (6, 2...):
                let count = Int(littleEndian(body[0..<2]))
                blocks.append(.repeatStart(count == Self.endless ? 1 : count + 1))
            case (7, _): blocks.append(.repeatEnd)
            case (8, 4...):
                rateAhead = 256_000_000 / ((Int(body[3]) + 1) * (65_536 - Int(littleEndian(body[0..<2]))))
            case (9, 12...):
                rates.insert(Int(littleEndian(body[0..<4])))
                blocks.append(.sound(max(0, rest - 12)))
                if size == 0 { return isWhole = source.size != nil }
            default: break
            }
        }
    }

    /// Whether not all samples are played once, one after another.
    var needsTimeLine: Bool {
        blocks.contains { block in
            switch block {
            case .silence, .noSound: true
            case .repeatStart(let times): times > 1
            case .sound, .repeatEnd: false
            }
        }
    }

    /// Bytes of all that libav takes for samples.
    var soundBytes: Int64 {
        blocks.reduce(0) { sum, block in
            switch block {
            case .sound(let bytes), .noSound(let bytes): sum.addingSaturated(bytes)
            case .silence, .repeatStart, .repeatEnd: sum
            }
        }
    }

    /// What is played, for frames of `width` bytes; `nil` if that is too much.
    func pieces(ofFrames width: Int64, rate: Int) -> [EditedTime.Piece]? {
        var (pieces, place) = ([EditedTime.Piece](), Int64(0))
        var repeated: (first: Int, times: Int)?
        for block in blocks {
            switch block {
            case .sound(let bytes):
                let (start, end) = (place / width, (place + bytes) / width)
                pieces.append(.init(start: start, frames: end - start))
                place += bytes
            case .noSound(let bytes):
                guard bytes % width == 0 else { return nil }
                place += bytes
            case .silence(let length):
                pieces.append(.init(start: nil, frames: length.frames(atRate: rate)?.frames ?? 0))
            case .repeatStart(let times): repeated = (pieces.count, times)
            case .repeatEnd:
                guard let (first, times) = repeated else { continue }
                let once = Array(pieces[first...])
                guard once.count * times <= Self.mostPieces - first else { return nil }
                for _ in 1..<max(1, times) { pieces += once }
                repeated = nil
            }
            if pieces.count > Self.mostPieces { return nil }
        }
        return pieces
    }
}
