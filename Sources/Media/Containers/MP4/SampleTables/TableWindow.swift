/// Reads a table's numbers through a small buffer. Sequential reads cost next to nothing.
struct TableWindow {
    private let table: SampleTable
    private let source: ByteSource
    private var buffer: [UInt8] = []
    /// The indices of the numbers in the buffer.
    private var held: Range<Int64> = 0..<0

    private static let bytes = 16 * 1024
    /// Larger offsets are not valid in any file, and sums with them could overflow.
    private static let greatest: Int64 = 1 << 62

    init(_ table: SampleTable, of source: ByteSource) {
        self.table = table
        self.source = source
    }

    /// The number at `index`. Throws if the source cannot be read there.
    mutating func number(_ index: Int64) throws -> Int64 {
        if !held.contains(index) { try fill(from: index) }
        let place = Int(index - held.lowerBound) * table.width
        let value = buffer.withUnsafeBytes { bytes in
            table.width == 4
                ? Int64(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)))
                : Int64(bitPattern: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)))
        }
        guard value >= 0, value < Self.greatest else { throw LibAVError.invalid("sample tables") }
        return value
    }

    private mutating func fill(from index: Int64) throws {
        guard index >= 0, index < table.count else { throw LibAVError.invalid("sample tables") }
        if buffer.isEmpty { buffer = [UInt8](repeating: 0, count: Self.bytes) }
        held = 0..<0
        let numbers = min(table.count - index, Int64(Self.bytes / table.width))
        let (count, place) = (Int(numbers) * table.width, table.place + index * Int64(table.width))
        let got = buffer.withUnsafeMutableBytes { source.read(into: .init(rebasing: $0[..<count]), at: place) }
        guard got == count else { throw LibAVError.unreadable("sample tables") }
        held = index..<(index + numbers)
    }
}
