/// Follows the boxes of an MP4 that comes through a pipe, whose bytes pass only once.
final class BoxTrail: PassingBytes {
    private var chain = FragmentChain()
    private var movie: MovieBoxes?
    /// Whether the header says that fragments follow, so that it knows only the first part of the sound.
    private(set) var isFragmented = false
    /// Bytes that have passed.
    private var passed: Int64 = 0
    /// What has passed of the box that begins now.
    private var head: [UInt8] = []
    /// What has passed of the last fragment's table, and how many bytes it has.
    private var fragment: [UInt8] = []
    private var fragmentBytes = 0
    /// Where in the source the next byte of it stands.
    private var fragmentPlace: Int64 = 0
    /// Where the fragments lie before which numbers are missing.
    private(set) var gaps = FragmentGaps()

    /// Where the next box begins: inside of the movie, or next to it.
    private var next: Int64? { movie?.next ?? chain.next }

    func pass(_ bytes: UnsafeBufferPointer<UInt8>) {
        let end = passed + Int64(bytes.count)
        while let place = next, place + Int64(head.count) < end {
            let start = Int(place + Int64(head.count) - passed)
            head += bytes[start...].prefix(missingBytes)
            if missingBytes == 0 { takeHead(at: place, bytes) }
        }
        collect(bytes)
        passed = end
    }

    /// Adds what `bytes`, which pass now, hold of the fragment's table.
    private func collect(_ bytes: UnsafeBufferPointer<UInt8>) {
        let missing = fragmentBytes - fragment.count
        let start = Int(max(0, fragmentPlace - passed))
        guard missing > 0, start < bytes.count else { return }
        let part = bytes[start...].prefix(missing)
        fragment += part
        fragmentPlace += Int64(part.count)
    }

    /// The table of the last fragment, the box `moof`, if it has passed whole; `nil` without fragments.
    var lastFragment: [UInt8]? { fragmentBytes > 0 && fragment.count == fragmentBytes ? fragment : nil }

    /// Bytes that must still come before the box tells its size and a fragment its number. No box is shorter than that.
    private var missingBytes: Int {
        guard head.count >= 8 else { return 8 - head.count }
        let length = bigEndian(head[..<4])
        if length == 1 { return FragmentChain.wideBytes - head.count }
        let isFragment = head[4..<8].elementsEqual("moof".utf8)
        return (isFragment ? Int(min(max(8, length), Int64(FragmentChain.headBytes))) : 8) - head.count
    }

    private func takeHead(at place: Int64, _ bytes: UnsafeBufferPointer<UInt8>) {
        defer { head = [] }
        collect(bytes)
        if var inner = movie {
            if inner.take(head) { isFragmented = true }
            movie = inner.next == nil ? nil : inner
            return
        }
        chain.take(head)
        if chain.hasFragments { isFragmented = true }
        if head[4..<8].elementsEqual("moof".utf8) {
            let length = (chain.next ?? place) - place
            (fragment, fragmentPlace) = (head, place + Int64(head.count))
            fragmentBytes = length <= LastFragment.mostBytes ? Int(length) : 0
            gaps.add(place, skipsNumbers: chain.skipsNumbers)
        }
        guard head[4..<8].elementsEqual("moov".utf8), let end = chain.next else { return }
        movie = MovieBoxes(next: place + (bigEndian(head[..<4]) == 1 ? 16 : 8), end: end)
    }

    /// Whether the source, which has ended, lacks something of its fragments.
    var isBroken: Bool {
        var chain = chain
        // The last box may be shorter than what was waited for.
        if movie == nil, !head.isEmpty { chain.take(head) }
        return chain.isBroken(at: passed)
    }
}

/// The boxes in the header of a movie.
private struct MovieBoxes {
    /// Where the next box begins; `nil` at the end of the header.
    private(set) var next: Int64?
    let end: Int64

    init(next: Int64, end: Int64) {
        (self.next, self.end) = (next, end)
        leaveAtEnd()
    }

    /// Takes the first bytes of the box at `next`. Returns whether it says that fragments follow.
    mutating func take(_ head: [UInt8]) -> Bool {
        guard let place = next else { return false }
        let isWide = bigEndian(head[..<4]) == 1
        let length = isWide ? bigEndian(head[8..<16]) : bigEndian(head[..<4])
        next = length >= head.count && length < end - place ? place + length : nil
        leaveAtEnd()
        return head[4..<8].elementsEqual("mvex".utf8)
    }

    private mutating func leaveAtEnd() { if let place = next, end - place < 8 { next = nil } }
}
