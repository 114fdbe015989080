/// Many texts in little memory: about seven bytes each, and the bytes that a text does not share with one near it.
///
/// Paths that are sorted begin like their neighbours. A block of texts holds its first one, and of each other only what
/// differs from the beginning of that one, so that any text is found without the others.
struct PackedTexts: Sendable {
    private struct Block {
        /// The first text, then the rest of each other.
        var bytes: [UInt8] = []
        /// Where each text ends in `bytes`.
        var ends: [UInt32] = []
        /// How many bytes each text shares with the first one.
        var shared: [UInt16] = []
    }

    private static let blockSize = 256
    private var blocks: [Block] = []
    private(set) var count = 0

    mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { append($0) }
    }

    private mutating func append(_ text: UnsafeBufferPointer<UInt8>) {
        if count % Self.blockSize == 0 {
            // A buffer that grew has room that is not used any more.
            if let last = blocks.indices.last {
                blocks[last].bytes = blocks[last].bytes.withUnsafeBufferPointer { Array($0) }
            }
            blocks.append(Block())
        }
        let last = blocks.count - 1
        var shared = 0
        if let first = blocks[last].ends.first {
            let most = min(Int(first), text.count, Int(UInt16.max))
            while shared < most, blocks[last].bytes[shared] == text[shared] { shared += 1 }
        }
        blocks[last].bytes.append(contentsOf: text[shared...])
        blocks[last].ends.append(UInt32(blocks[last].bytes.count))
        blocks[last].shared.append(UInt16(shared))
        count += 1
    }

    subscript(place: Int) -> String {
        let block = blocks[place / Self.blockSize]
        let slot = place % Self.blockSize
        let (shared, end) = (Int(block.shared[slot]), Int(block.ends[slot]))
        let start = slot == 0 ? 0 : Int(block.ends[slot - 1])
        return String(unsafeUninitializedCapacity: shared + end - start) { target in
            block.bytes.withUnsafeBytes { bytes in
                let target = UnsafeMutableRawBufferPointer(target)
                target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<shared]))
                UnsafeMutableRawBufferPointer(rebasing: target[shared...])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
            }
            return shared + end - start
        }
    }
}
