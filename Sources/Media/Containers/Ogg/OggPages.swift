/// Reads the pages of an Ogg file in parallel with libav, which skips damaged pages silently.
final class OggPages {
    private let source: ByteSource
    /// Everything that reading changes.
    var state = State()
    private var buffer = [UInt8](repeating: 0, count: OggPages.greatestPage)

    static let greatestPage = 27 + 255 + 255 * 255
    private static let streamLimit = 256
    /// Limit on the pages with headers. A page holds 64 KB, and a cover of 16 MiB takes 350 pages.
    static let mostOfHeaders = 1000

    init(_ source: ByteSource) { self.source = source }

    /// Whether a page that ends a stream was read.
    var hasEnded: Bool { state.lastPages.contains { $0.value.endsStream } }

    struct State {
        fileprivate var place: Int64 = 0
        /// The last good page of each stream.
        fileprivate var lastPages: [UInt32: Page] = [:]
        fileprivate var gaps: [UInt32: Break] = [:]
        fileprivate var nextLink: Int64?
        fileprivate var isCutBeforeLink = false
        fileprivate var hasPassedJunk = false
        /// Where the last good page ends.
        fileprivate var goodEnd: Int64 = 0

        /// Whether the sound of a stream was met, or its end. Streams that play together begin before both.
        fileprivate var hasSoundOrEnd: Bool { lastPages.contains { $0.value.granule > 0 || $0.value.endsStream } }

        /// Whether something other than a page lies right behind a page.
        fileprivate var isBehindJunk: Bool { !lastPages.isEmpty && place > goodEnd }

        /// Whether a stream has stopped here in the middle of its data.
        fileprivate var isCut: Bool { lastPages.contains { !$0.value.endsStream && (isBehindJunk || $0.value.isOpen) } }
    }

    /// Where the first stream began that follows the sound or the end of another one; `nil` if none was met.
    var nextLink: Int64? { state.nextLink }

    /// Whether the end of the stream before that one is missing. A stream may stop behind any whole packet: many that follow
    /// one another in broadcasts do.
    var isCutBeforeLink: Bool { state.isCutBeforeLink }

    /// Whether a stream began after the sound of another one.
    var isChained: Bool { nextLink != nil }

    enum Break {
        case none
        /// Pages are missing, and so are packets.
        case between
        /// As `between`, and libav joined unrelated parts into the packet before the gap.
        case within
    }

    /// What the page on which a packet begins says about the packet.
    struct Arrival {
        var gap = Break.none
        /// The packet's first frame on the stream's clock; `nil` if the pages do not tell.
        var frame: Int64?
    }

    /// Reads pages up to the one at `target`, on which a packet of `firstFrames` begins, and returns what they show.
    ///
    /// Only the first packet of a page gets an answer. Call it with ascending offsets.
    func arrive(at target: Int64, firstFrames: Int64?, _ lengths: PacketLength) -> Arrival {
        var arrival = Arrival()
        while state.place <= target, !source.stop.isStopped {
            guard let page = goodPage(at: state.place) else {
                // What lies before the first page, as a tag, hides none.
                state.hasPassedJunk = !state.lastPages.isEmpty
                guard let other = nextCapture(behind: state.place) else {
                    state.place = .max
                    break
                }
                state.place = other
                continue
            }
            let last = state.lastPages[page.serial]
            // A page with sound that is marked as a beginning is none.
            if page.beginsStream, page.granule <= 0, nextLink == nil, state.hasSoundOrEnd || state.isBehindJunk {
                (state.nextLink, state.isCutBeforeLink) = (state.place, state.isCut)
            }
            // A listener who joins a broadcast gets its headers first, then the live pages. Some headers count as pages on
            // which no packet ends.
            let isJoined = (last?.granule ?? 1) <= 0 && last?.isOpen == false && !state.hasPassedJunk
            if let last, page.number != last.number &+ 1, !page.beginsStream, !isJoined {
                state.gaps[page.serial] = last.isOpen ? .within : .between
            }
            if state.lastPages.count < Self.streamLimit || last != nil { state.lastPages[page.serial] = page }
            if state.place == target {
                arrival.gap = state.gaps.removeValue(forKey: page.serial) ?? .none
                if arrival.gap != .none {
                    arrival.frame = firstFrames.flatMap { start(of: page, behind: last, firstFrames: $0, lengths) }
                } else if let last, last.granule > 0, !last.isOpen {
                    arrival.frame = last.granule
                }
            }
            state.place += Int64(page.bytes)
            state.goodEnd = state.place
        }
        source.forget(before: nextLink ?? state.place)
        return arrival
    }

    /// The position of the first packet that begins on the page in the buffer. The page's granule position counts
    /// the frames up to the end of the last packet that ends on it.
    private func start(of page: Page, behind last: Page?, firstFrames: Int64, _ lengths: PacketLength)
        -> Int64?
    {
        guard page.granule > 0 else { return nil }
        let packets = packets(of: page)
        guard !packets.isEmpty else { return nil }
        guard let frames = buffer.withUnsafeBytes({ lengths.frames(in: $0, packets) }) else { return nil }
        let start = page.granule - frames - firstFrames
        guard page.endsStream, let last, !last.isOpen, firstFrames > 0 else { return start }
        // The granule position of the last page excludes the padding, but the missing packets before it were whole.
        let missing = max(0, start - last.granule)
        return last.granule + (missing + firstFrames - 1) / firstFrames * firstFrames
    }

    /// The first page of sound.
    struct FirstOfSound {
        let granule: Int64
        let serial: UInt32
        let endsStream: Bool
        /// Where it ends in the source.
        let end: Int64
        /// Frames of the packets that begin and end on it; `nil` if they do not tell.
        let frames: Int64?

        /// The position of its first frame; `nil` if the page does not tell.
        var start: Int64? { frames.map { granule - $0 } }
    }

    /// The first page of the source; `nil` if it is damaged. A tag may lie in front of it.
    var first: (page: Page, place: Int64)? {
        if let page = goodPage(at: 0) { return (page, 0) }
        let place = TagBlocks.end(in: source, before: source.size ?? .max)
        guard place > 0 else { return nil }
        return goodPage(at: place).map { ($0, place) }
    }

    /// The serial number of the stream that libav gives this index: it counts the first pages in their order. `nil` if there
    /// are fewer.
    func serial(ofStream index: Int) -> UInt32? {
        var place = first?.place ?? 0
        for number in 0..<Self.streamLimit {
            guard let page = goodPage(at: place), page.beginsStream else { return nil }
            if number == index { return page.serial }
            place += Int64(page.bytes)
        }
        return nil
    }

    /// The first page with a position beyond zero, if given of the stream with this serial number; `nil` if the headers do
    /// not end.
    func firstOfSound(_ lengths: PacketLength, _ stream: InputStream, serial: UInt32? = nil) -> FirstOfSound? {
        var place = first?.place ?? 0
        for _ in 0..<Self.mostOfHeaders {
            guard let page = goodPage(at: place) else { return nil }
            place += Int64(page.bytes)
            if let serial, page.serial != serial { continue }
            // Some headers count as pages on which no packet ends.
            if page.granule == 0 || page.beginsStream || page.granule < 0 && !page.isOpen { continue }
            guard page.granule > 0 else { return nil }
            // Where packets overlap, the first one yields nothing.
            let packets = packets(of: page)
            let counted = stream.codec.packets.firstFillsWindow ? packets : packets.prefix(1) + packets
            let frames = packets.isEmpty ? nil : buffer.withUnsafeBytes { lengths.frames(in: $0, counted) }
            return FirstOfSound(
                granule: page.granule,
                serial: page.serial,
                endsStream: page.endsStream,
                end: place,
                frames: frames
            )
        }
        return nil
    }

    /// How many packets end on the page that was read last.
    func endedPackets(of page: Page) -> Int { buffer[27..<page.bodyStart].count { $0 < 255 } }

    /// The packets that begin and end on the page in the buffer.
    private func packets(of page: Page) -> [Range<Int>] {
        var packets: [Range<Int>] = []
        var (begin, end) = (page.bodyStart, page.bodyStart)
        for segment in 27..<page.bodyStart {
            end += Int(buffer[segment])
            if buffer[segment] < 255 {
                packets.append(begin..<end)
                begin = end
            }
        }
        if page.continues, !packets.isEmpty { packets.removeFirst() }
        return packets
    }

    struct Page {
        let serial: UInt32
        let number: UInt32
        let granule: Int64
        let bytes: Int
        let bodyStart: Int
        /// Whether the page begins with the rest of a packet.
        let continues: Bool
        let beginsStream: Bool
        let endsStream: Bool
        /// Whether its last packet continues on the next page.
        let isOpen: Bool
    }

    /// The page at `place`; `nil` unless it is complete and its checksum matches.
    func goodPage(at place: Int64) -> Page? {
        let got = read(282, at: place)
        guard got >= 27, buffer.starts(with: [0x4F, 0x67, 0x67, 0x53, 0]) else { return nil }
        let segments = Int(buffer[26])
        guard got >= 27 + segments else { return nil }
        let bytes = 27 + segments + buffer[27..<(27 + segments)].reduce(0) { $0 + Int($1) }
        if bytes > got {
            guard read(bytes, at: place) == bytes else { return nil }
        }
        let stated = little(22)
        for index in 22..<26 { buffer[index] = 0 }
        guard Self.sum(buffer, bytes) == stated else { return nil }
        return Page(
            serial: little(14),
            number: little(18),
            granule: Self.granule(Int64(little(6)) | Int64(Int32(bitPattern: little(10))) << 32),
            bytes: bytes,
            bodyStart: 27 + segments,
            continues: buffer[5] & 1 != 0,
            beginsStream: buffer[5] & 2 != 0,
            endsStream: buffer[5] & 4 != 0,
            isOpen: segments > 0 && buffer[26 + segments] == 255
        )
    }

    /// Reads up to `count` bytes into the buffer, and returns how many there were. A pipe has only what it keeps, and
    /// what follows that.
    private func read(_ count: Int, at place: Int64) -> Int {
        guard source.isSeekable else {
            let bytes = source.bytes(at: place, count: count) ?? []
            buffer.replaceSubrange(..<bytes.count, with: bytes)
            return bytes.count
        }
        return buffer.withUnsafeMutableBytes { source.read(into: .init(rebasing: $0[..<count]), at: place) }
    }

    /// Turns an impossible position into -1, the value of a page on which no packet ends.
    private static func granule(_ stated: Int64) -> Int64 {
        stated == Plausible.boundedFrames(stated) ? stated : -1
    }

    private static func sum(_ page: UnsafePointer<UInt8>, _ bytes: Int) -> UInt32 {
        Checksum.crc32(page, bytes).byteSwapped
    }

    /// The checksum of a page, as stored from byte 22 on.
    static func checksum(of page: [UInt8]) -> [UInt8] {
        var page = page
        for index in 22..<26 { page[index] = 0 }
        return bigEndianBytes(Int64(sum(page, page.count)), count: 4).reversed()
    }

    /// The first good page from `place` on, and its place. `nil` if none begins before the next page must.
    func nextPage(from place: Int64) -> (page: Page, place: Int64)? {
        var next = place
        let limit = place.addingSaturated(Int64(Self.greatestPage))
        // The mark of a page may occur in others.
        for _ in 0..<Self.mostMarks {
            if let page = goodPage(at: next) { return (page, next) }
            guard let other = nextCapture(behind: next, upTo: limit) else { return nil }
            next = other
        }
        return nil
    }

    private static let mostMarks = 16

    private func nextCapture(behind place: Int64, upTo limit: Int64 = .max) -> Int64? {
        var start = place + 1
        while start < limit, !source.stop.isStopped {
            let got = buffer.withUnsafeMutableBytes { source.read(into: $0, at: start) }
            guard got >= 4 else { return nil }
            for offset in 0...(got - 4) where buffer[offset] == 0x4F {
                if buffer[offset..<(offset + 4)].elementsEqual([0x4F, 0x67, 0x67, 0x53]) {
                    return start + Int64(offset)
                }
            }
            start += Int64(got - 3)
        }
        return nil
    }

    private func little(_ offset: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(buffer[offset + $1]) << (8 * UInt32($1)) }
    }
}
