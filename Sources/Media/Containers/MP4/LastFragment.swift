/// The last fragment of an MP4, whose last sample may be shorter than its packet: the rest is padding of the encoder, which
/// no header of fragments states. libav takes the usual duration for it.
enum LastFragment {
    /// Larger boxes are not looked at: a sample takes at most 16 bytes of one.
    static let mostBytes: Int64 = 1 << 20

    /// The duration of the last sample of a track in ticks of its media; `nil` if the fragment does not state it, or if it is
    /// not the only one that is shorter than the others. Durations that vary are rounded or stamped, and show no padding.
    static func duration(ofTrack id: Int, in source: ByteSource) -> Int64? {
        box(in: source).flatMap { duration(ofTrack: id, in: $0) }
    }

    /// The box `moof`, with its head.
    private static func box(in source: ByteSource) -> [UInt8]? {
        guard let size = source.size else { return (source.onlooker as? BoxTrail)?.lastFragment }
        var chain = FragmentChain()
        var last: Range<Int64>?
        for _ in 0..<1_000_000 {
            guard let place = chain.next, place < size else { break }
            let head = source.bytes(at: place, count: FragmentChain.headBytes) ?? []
            chain.take(head)
            if head.dropFirst(4).prefix(4).elementsEqual("moof".utf8), let end = chain.next { last = place..<end }
        }
        guard let last, last.upperBound - last.lowerBound <= mostBytes else { return nil }
        return source.bytes(at: last.lowerBound, count: Int(last.upperBound - last.lowerBound))
    }

    static func duration(ofTrack id: Int, in fragment: [UInt8]) -> Int64? {
        guard let whole = boxes(fragment[...]).first, whole.name == "moof" else { return nil }
        var durations = Durations()
        for track in boxes(whole.content) where track.name == "traf" {
            var usual: Int64?
            var isWanted = false
            for box in boxes(track.content) {
                let bytes = Array(box.content)
                if box.name == "tfhd", bytes.count >= 8 {
                    isWanted = bigEndian(bytes[4..<8]) == id
                    usual = usualDuration(bytes)
                } else if box.name == "trun", isWanted {
                    add(bytes, usual, to: &durations)
                }
            }
        }
        return durations.ofShorterLast
    }

    /// The durations of samples, of which only the last one may differ.
    private struct Durations {
        private var others: Int64?
        private var last: Int64?
        private var vary = false

        mutating func add(_ duration: Int64, count: Int = 1) {
            guard count > 0 else { return }
            if let last { note(last) }
            if count > 1 { note(duration) }
            last = duration
        }

        /// Adds samples whose durations are not known.
        mutating func addUnknown() {
            if let last { note(last) }
            last = nil
        }

        /// Notes that the table cannot be read.
        mutating func breakOff() { vary = true }

        private mutating func note(_ duration: Int64) {
            if let others, others != duration { vary = true }
            others = duration
        }

        /// That of the last sample, if all others have the same, and a longer one.
        var ofShorterLast: Int64? {
            guard !vary, let last, others.map({ $0 > last }) ?? true else { return nil }
            return last
        }
    }

    /// The duration that `tfhd` states for all samples; `nil` if it states none.
    private static func usualDuration(_ bytes: [UInt8]) -> Int64? {
        let flags = bigEndian(bytes[1..<4])
        let place = 8 + (flags & 1 == 0 ? 0 : 8) + (flags & 2 == 0 ? 0 : 4)
        guard flags & 8 != 0, bytes.count >= place + 4 else { return nil }
        return bigEndian(bytes[place..<(place + 4)])
    }

    /// Adds the durations in `trun`, where `usual` holds for samples without one.
    private static func add(_ bytes: [UInt8], _ usual: Int64?, to durations: inout Durations) {
        guard bytes.count >= 8 else { return durations.breakOff() }
        let (flags, count) = (bigEndian(bytes[1..<4]), Int(bigEndian(bytes[4..<8])))
        if flags & 0x100 == 0 {
            if let usual { durations.add(usual, count: count) } else { durations.addUnknown() }
            return
        }
        let start = 8 + (flags & 1 == 0 ? 0 : 4) + (flags & 4 == 0 ? 0 : 4)
        // Duration, size, flags and offset of each sample.
        let width = 4 * (flags >> 8 & 0xF).nonzeroBitCount
        guard bytes.count >= start + count * width else { return durations.breakOff() }
        for sample in 0..<count {
            let place = start + sample * width
            durations.add(bigEndian(bytes[place..<(place + 4)]))
        }
    }

    /// The boxes in `bytes`, up to one whose size does not fit.
    private static func boxes(_ bytes: ArraySlice<UInt8>) -> [(name: String, content: ArraySlice<UInt8>)] {
        var boxes: [(name: String, content: ArraySlice<UInt8>)] = []
        var rest = bytes
        while rest.count >= 8 {
            let size = Int(bigEndian(rest.prefix(4)))
            guard size >= 8, size <= rest.count else { break }
            let name = String(decoding: rest.dropFirst(4).prefix(4), as: UTF8.self)
            boxes.append((name, rest.prefix(size).dropFirst(8)))
            rest = rest.dropFirst(size)
        }
        return boxes
    }
}
