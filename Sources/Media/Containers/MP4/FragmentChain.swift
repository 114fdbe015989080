/// Whether the boxes of a fragmented MP4 form an unbroken chain. The length of such a file is the sum of its
/// fragments, so a damaged or missing fragment does not show in the length.
struct FragmentChain {
    /// Where the next box begins; `nil` once nothing more can follow.
    private(set) var next: Int64? = 0
    /// Whether the file has fragments.
    private(set) var hasFragments = false
    /// Whether what was found in the place of a box is none.
    private var isBroken = false
    /// Whether the last box holds neither sound nor the tables to find it.
    private var isWithoutSound = false

    /// Boxes that hold neither sound nor the tables to find it.
    private static let without = ["mfra", "free", "skip", "sidx", "udta", "meta", "uuid", "emsg"]
    /// The bytes of a box that tell its name and length, if it is long.
    static let headBytes = 16

    /// Takes the first bytes of the box at `next`.
    mutating func take(_ head: [UInt8]) {
        guard let place = next else { return }
        let name = head.dropFirst(4).prefix(4)
        guard head.count >= 8, name.allSatisfy({ (0x20..<0x7F).contains($0) || $0 == 0xA9 }) else { return end() }
        if name.elementsEqual("moof".utf8) { hasFragments = true }
        isWithoutSound = Self.without.contains { name.elementsEqual($0.utf8) }
        var (length, least) = (bigEndian(head[..<4]), Int64(8))
        if length == 1, head.count == Self.headBytes { (length, least) = (bigEndian(head[8..<16]), 16) }
        // The box extends to the end.
        if length == 0 { return next = nil }
        guard length >= least, length < Int64.max - place else { return end() }
        next = place + length
    }

    private mutating func end() {
        isBroken = true
        next = nil
    }

    /// Whether a source of `size` bytes lacks something of its fragments.
    func isBroken(at size: Int64) -> Bool {
        guard hasFragments else { return false }
        guard let next else { return isBroken }
        // A box that is cut short after the sound is at most an index.
        return next > size && !isWithoutSound
    }

    static func isBroken(_ source: ByteSource) -> Bool {
        guard let size = source.size else {
            return source.isExhausted && (source.onlooker as? BoxTrail)?.isBroken == true
        }
        var chain = FragmentChain()
        // A day of sound in fragments of one second is some 170,000 boxes.
        for _ in 0..<1_000_000 {
            guard let place = chain.next, place < size else { break }
            chain.take(source.bytes(at: place, count: headBytes) ?? [])
        }
        return chain.isBroken(at: size)
    }
}
