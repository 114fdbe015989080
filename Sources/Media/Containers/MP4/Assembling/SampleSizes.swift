/// Stores the sizes of an MP4's samples, of which there can be millions: about two bytes each. When even that is
/// too much, blocks of sizes are parked in the output itself, between the samples, until the index is written.
struct SampleSizes {
    /// A parked block in the output: bytes that no sample refers to.
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

    /// By default, eight blocks of 16 KiB hold about sixty thousand samples: half an hour of AAC.
    init(blockBytes: Int = 16 * 1024, blocksInMemory: Int = 8) {
        self.blockBytes = blockBytes
        self.blocksInMemory = blocksInMemory
    }

    /// Adds the size of the next sample, coded as seven bits per byte, lowest first; the
    /// last byte has its top bit clear.
    mutating func append(_ size: Int) {
        count += 1
        var rest = size
        while rest >= 0x80 {
            open.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        open.append(UInt8(rest))
    }

    /// A block that must be parked now, or `nil`. Write it anywhere, then pass its offset to `park`.
    mutating func blockToPark() -> [UInt8]? {
        guard open.count >= blockBytes else { return nil }
        blocks.append(open)
        open.removeAll(keepingCapacity: true)
        return blocks.count > blocksInMemory ? blocks.removeFirst() : nil
    }

    mutating func park(_ block: [UInt8], at place: Int64) { parked.append(Parked(place: place, bytes: block.count)) }

    /// Calls `body` with all sizes in order; `read` returns parked bytes.
    func forEach(_ read: (Int64, Int) throws -> [UInt8], _ body: (Int) throws -> Void) throws {
        for block in parked { try Self.decode(try read(block.place, block.bytes), body) }
        for block in blocks { try Self.decode(block, body) }
        try Self.decode(open, body)
    }

    /// The offsets and lengths of parked blocks, in order: gaps between the samples.
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
