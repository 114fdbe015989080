import Conversion

/// Creative Voice File, whose blocks hold samples, silence and repetitions.
struct VOC: SourceRules {
    /// Blocks divide the samples, so their places do not follow from their numbers, and libav counts what is left of a block.
    let packets = PacketTraits(jump: .never, mayLandInEdits: false)

    func follow(_ source: ByteSource) { source.follow(with: VOCTrail()) }

    func hasHiddenSound(_ source: ByteSource) -> Bool { (source.onlooker as? VOCTrail)?.needsTimeLine == true }

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
                detail: "the file has silence or repetitions, and not all of its blocks can be seen from its start",
                hint: "read it from a file"
            )
            return ContainerFacts(refusal: refusal)
        }
        let width = Int64(stream.pcmBytesPerFrame)
        guard stream.isPCM, width > 0 else {
            return ContainerFacts(refusal: .editList("the file has silence or repetitions between compressed samples"))
        }
        guard let pieces = blocks.pieces(ofFrames: width, rate: stream.sampleRateHz) else {
            let most = Figures.count(VOCBlocks.mostPieces, "part")
            return ContainerFacts(refusal: .editList("the silence and the repetitions make more than \(most)"))
        }
        guard !blocks.isMisread, let edits = EditedTime(pieces, of: .exact(blocks.soundBytes / width)) else {
            return ContainerFacts(refusal: .editList("libav cannot read the sound behind a repetition"))
        }
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
    /// Whether no size makes libav read what follows a repetition.
    private(set) var isMisread = false
    /// The rate that a block states for the next one.
    private var rateAhead: Int?

    static let headBytes: Int64 = 4
    static let mostPieces = 10_000
    /// The bytes at the start of a block's content that tell what it is.
    static let mostTold = 12
    private static let most = 100_000
    private static let greatestSize: Int64 = 0xFF_FFFF
    /// The count of a repetition without end, which is played once.
    private static let endless = 0xFFFF

    init() {}
    init(_ source: ByteSource) { read(source) }

    private mutating func read(_ source: ByteSource) {
        guard let head = source.bytes(at: 20, count: 2), head.count == 2 else { return }
        var place = littleEndian(head)
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
            let told = size == 0 ? Self.mostTold : min(Int(size), Self.mostTold)
            let body = Array(start.dropFirst(4).prefix(told))
            // libav takes a block of samples without a size for the rest of the file.
            let rest = size == 0 ? (source.size ?? 0) - place - Self.headBytes : size
            defer { place += Self.headBytes + size }
            if type == 7, size == 0 {
                blocks.append(.repeatEnd)
                guard var seen = before, seen.size + Self.headBytes <= Self.greatestSize else {
                    isMisread = true
                    continue
                }
                seen.size += Self.headBytes
                before = seen
                patches.append(
                    SourcePatch(place: seen.place + 1, bytes: bigEndianBytes(seen.size, count: 3).reversed())
                )
                if seen.isSound { blocks.append(.noSound(Self.headBytes)) }
                continue
            }
            before = (place, size, [1, 2, 9].contains(type))
            take(type, body, size, rest)
            if size == 0, type == 1 || type == 9 { return isWhole = source.size != nil }
        }
    }

    /// Takes a block of `type` and `size`, whose content begins with `body`, and of which libav reads `rest` bytes.
    mutating func take(_ type: UInt8, _ body: [UInt8], _ size: Int64, _ rest: Int64) {
        switch (type, body.count) {
        case (1, 2...):
            rates.insert(rateAhead ?? 1_000_000 / (256 - Int(body[0])))
            rateAhead = nil
            blocks.append(.sound(max(0, rest - 2)))
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
        default: break
        }
    }

    /// Forgets the blocks, but not their rates.
    mutating func forgetBlocks() { blocks = [] }

    /// Whether not all samples are played once, one after another.
    var needsTimeLine: Bool {
        isMisread
            || blocks.contains { block in
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

/// Follows the blocks of a VOC file that comes through a pipe, whose bytes pass only once.
final class VOCTrail: PassingBytes {
    /// Whether a block has passed that libav leaves out or plays at a wrong rate.
    private(set) var needsTimeLine = false
    private var blocks = VOCBlocks()
    private var passed: Int64 = 0
    /// Where the next block begins; `nil` behind the last one.
    private var next: Int64?
    /// What has passed of the header, or of the block that begins at `next`.
    private var head: [UInt8] = []
    private var isInHeader = true

    private static let header = 22

    func pass(_ bytes: UnsafeBufferPointer<UInt8>) {
        let end = passed + Int64(bytes.count)
        while let place = isInHeader ? 0 : next, place + Int64(head.count) < end {
            let start = Int(place + Int64(head.count) - passed)
            head += bytes[start...].prefix(missing)
            if missing == 0 { takeHead(at: place) }
        }
        passed = end
    }

    /// Bytes that must still come before the header or the block is known.
    private var missing: Int {
        if isInHeader { return Self.header - head.count }
        guard head.first != 0 else { return 0 }
        guard head.count >= 4 else { return 4 - head.count }
        return 4 + min(Int(littleEndian(head[1..<4])), VOCBlocks.mostTold) - head.count
    }

    private func takeHead(at place: Int64) {
        defer { head = [] }
        if isInHeader {
            isInHeader = false
            // Blocks within the header are no blocks.
            let start = littleEndian(head[20..<22])
            next = start >= Int64(Self.header) ? start : nil
            return
        }
        guard head[0] != 0 else { return next = nil }
        let size = littleEndian(head[1..<4])
        // A block of samples without a size is the last one.
        next = size == 0 && [1, 9].contains(head[0]) ? nil : place + VOCBlocks.headBytes + size
        blocks.take(head[0], Array(head[4...]), size, size)
        if blocks.needsTimeLine || blocks.rates.count > 1 || head[0] == 7 && size == 0 { needsTimeLine = true }
        blocks.forgetBlocks()
    }
}
