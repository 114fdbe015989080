/// The sizes of an MP4's samples, of which there can be millions, in little memory: about two bytes each, and when that
/// is too much they wait in the output itself, between the samples, until the index is written.
struct SampleSizes {
    /// Where full blocks wait: bytes that no sample points at.
    private struct Parked {
        let place: Int64
        let bytes: Int
    }

    private(set) var count: Int64 = 0
    private var open: [UInt8] = []
    private var blocks: [[UInt8]] = []
    private var parked: [Parked] = []

    private let blockBytes: Int
    private let blocksInMemory: Int

    /// Eight blocks of 16 KiB hold some sixty thousand samples: half an hour of AAC.
    init(blockBytes: Int = 16 * 1024, blocksInMemory: Int = 8) {
        self.blockBytes = blockBytes
        self.blocksInMemory = blocksInMemory
    }

    /// Notes the next sample. Seven bits a byte, the lowest first; the last byte has its top bit clear.
    mutating func append(_ size: Int) {
        count += 1
        var rest = size
        while rest >= 0x80 {
            open.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        open.append(UInt8(rest))
    }

    /// A block that is to be parked now, if there is one: write it anywhere and say where with `park`.
    mutating func blockToPark() -> [UInt8]? {
        guard open.count >= blockBytes else { return nil }
        blocks.append(open)
        open.removeAll(keepingCapacity: true)
        return blocks.count > blocksInMemory ? blocks.removeFirst() : nil
    }

    mutating func park(_ block: [UInt8], at place: Int64) { parked.append(Parked(place: place, bytes: block.count)) }

    /// Hands out all sizes in order; `read` gives parked bytes back.
    func forEach(_ read: (Int64, Int) throws -> [UInt8], _ body: (Int) throws -> Void) throws {
        for block in parked { try Self.decode(try read(block.place, block.bytes), body) }
        for block in blocks { try Self.decode(block, body) }
        try Self.decode(open, body)
    }

    /// Where parked bytes begin and how many they are, in order: gaps between the samples.
    var gaps: [(place: Int64, bytes: Int)] { parked.map { ($0.place, $0.bytes) } }

    private static func decode(_ bytes: [UInt8], _ body: (Int) throws -> Void) throws {
        var (size, shift) = (0, 0)
        for byte in bytes {
            size |= Int(byte & 0x7F) << shift
            shift += 7
            if byte & 0x80 == 0 {
                try body(size)
                (size, shift) = (0, 0)
            }
        }
    }
}
