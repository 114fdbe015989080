/// Whether the boxes of a fragmented MP4 form an unbroken chain. The length of such a file is the sum of its
/// fragments, so a damaged or missing fragment does not show in the length.
struct FragmentChain {
    /// Where the next box begins; `nil` once nothing more can follow.
    private(set) var next: Int64? = 0
    /// Whether the file has fragments.
    private(set) var hasFragments = false
    /// The number of the last fragment.
    private var number: Int64?
    /// Whether numbers are missing before that fragment.
    private(set) var skipsNumbers = false
    /// Whether what was found in the place of a box is none.
    private var isBroken = false
    /// Whether the last box holds neither sound nor the tables to find it.
    private var isWithoutSound = false

    /// Boxes that hold neither sound nor the tables to find it.
    private static let without = ["mfra", "free", "skip", "sidx", "udta", "meta", "uuid", "emsg"]
    /// The bytes of a box that tell its name and length, and of a fragment that tell its number.
    static let headBytes = 24
    /// The bytes that tell the length of a long box.
    static let wideBytes = 16

    /// Takes the first bytes of the box at `next`.
    mutating func take(_ head: [UInt8]) {
        guard let place = next else { return }
        let name = head.dropFirst(4).prefix(4)
        guard head.count >= 8, name.allSatisfy({ (0x20..<0x7F).contains($0) || $0 == 0xA9 }) else { return end() }
        if Self.isFragment(head) { takeFragment(head) }
        isWithoutSound = Self.without.contains { name.elementsEqual($0.utf8) }
        var (length, least) = (bigEndian(head[..<4]), Int64(8))
        if length == 1, head.count >= Self.wideBytes { (length, least) = (bigEndian(head[8..<16]), 16) }
        // The box extends to the end.
        if length == 0 { return next = nil }
        guard length >= least, length < Int64.max - place else { return end() }
        next = place + length
    }

    /// Fragments are numbered in their order. Some writers count those of all tracks together.
    private mutating func takeFragment(_ head: [UInt8]) {
        hasFragments = true
        let stated = head.count >= Self.headBytes && head[12..<16].elementsEqual("mfhd".utf8)
        let next = stated ? bigEndian(head[20..<24]) : nil
        skipsNumbers = if let number, let next { next > number + 1 } else { false }
        number = next
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

    /// Where the first fragments lie before which numbers are missing, in a file.
    static func behindGaps(in source: ByteSource) -> [Range<Int64>] {
        var (chain, fragments) = (FragmentChain(), FragmentGaps())
        for _ in 0..<1_000_000 {
            guard let place = chain.next, place < source.size ?? 0 else { break }
            let head = source.bytes(at: place, count: headBytes) ?? []
            chain.take(head)
            if isFragment(head) { fragments.add(place, skipsNumbers: chain.skipsNumbers) }
        }
        return fragments.ranges
    }

    /// Whether a box that begins with `head` holds the tables of a fragment.
    static func isFragment(_ head: [UInt8]) -> Bool { head.dropFirst(4).prefix(4).elementsEqual("moof".utf8) }

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

/// Where the fragments lie before which numbers are missing: from their start to that of the next fragment.
struct FragmentGaps {
    private(set) var ranges: [Range<Int64>] = []
    /// As many tell that a source is damaged.
    private static let most = 1_000

    /// Adds the fragment that begins at `place`, behind all others.
    mutating func add(_ place: Int64, skipsNumbers: Bool) {
        if let last = ranges.last, last.upperBound == .max {
            ranges[ranges.count - 1] = last.lowerBound..<max(place, last.lowerBound)
        }
        if skipsNumbers, ranges.count < Self.most { ranges.append(place..<Int64.max) }
    }
}
