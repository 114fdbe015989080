/// The end of an Ogg file: its last page, and whether that page is marked as the last.
struct OggEnd {
    /// The last complete page.
    let lastPage: OggPages.Page?
    /// How many packets end on that page.
    let lastPackets: Int
    private let lastPlace: Int64
    /// Whether the source ends exactly with that page, and the page with a complete packet.
    let isAfterPacket: Bool

    /// Searches the end of `source`. A page is at most 65,307 bytes long.
    init(of source: ByteSource) {
        guard let size = source.endSize else {
            (lastPage, lastPackets, lastPlace, isAfterPacket) = (nil, 0, 0, false)
            return
        }
        let pages = OggPages(source)
        let count = Int(min(size, Int64(2 * OggPages.greatestPage)))
        let start = size - Int64(count)
        let tail = source.bytes(at: start, count: count) ?? []
        var place = tail.count - 27
        while place >= 0 {
            if tail[place] == 0x4F, tail[place + 1] == 0x67, let page = pages.goodPage(at: start + Int64(place)) {
                lastPage = page
                lastPackets = pages.endedPackets(of: page)
                lastPlace = start + Int64(place)
                isAfterPacket = !page.isOpen && start + Int64(place + page.bytes) == size
                return
            }
            place -= 1
        }
        (lastPage, lastPackets, lastPlace, isAfterPacket) = (nil, 0, 0, false)
    }

    /// The position of the page before the last one; `nil` if it has none, or is of another stream.
    func granuleBefore(in source: ByteSource) -> Int64? {
        guard let lastPage else { return nil }
        let pages = OggPages(source)
        let start = max(0, lastPlace - Int64(OggPages.greatestPage))
        let tail = source.bytes(at: start, count: Int(lastPlace - start)) ?? []
        for place in tail.indices.reversed() where place + 27 <= tail.count {
            guard tail[place] == 0x4F, tail[place + 1] == 0x67, let page = pages.goodPage(at: start + Int64(place)),
                start + Int64(place + page.bytes) == lastPlace
            else { continue }
            return page.serial == lastPage.serial && page.granule >= 0 ? page.granule : nil
        }
        return nil
    }

    /// The granule position of the first Ogg page with sound, if that page also ends the stream.
    static func granuleOfOnlyPage(_ source: ByteSource) -> Int64? {
        var place: Int64 = 0
        for _ in 0..<OggPages.mostOfHeaders {
            guard let head = source.bytes(at: place, count: 27 + 255), head.count >= 27,
                head.starts(with: Array("OggS".utf8)), head.count >= 27 + Int(head[26])
            else { return nil }
            let granule = bigEndian(head[6..<14].reversed())
            place += 27 + Int64(head[26]) + head[27..<(27 + Int(head[26]))].reduce(0) { $0 + Int64($1) }
            // Another link of a chained stream may follow.
            if head[5] & 0x04 != 0 {
                return (1...Plausible.frames).contains(granule) && source.ends(at: place) ? granule : nil
            }
            if granule > 0 { return nil }
        }
        return nil
    }

    /// Whether all pages of the source are good, belong to one stream and count no frame, and the last of them ends both
    /// the stream and the source.
    static func isOfEmptyStream(_ source: ByteSource) -> Bool {
        let pages = OggPages(source)
        guard let first = pages.goodPage(at: 0) else { return false }
        var place: Int64 = 0
        for number in 0..<UInt32(1000) {
            guard let page = pages.goodPage(at: place), page.serial == first.serial, page.number == number,
                page.granule == 0 || page.granule == -1
            else { return false }
            place += Int64(page.bytes)
            if page.endsStream { return page.granule == 0 && !page.isOpen && source.ends(at: place) }
        }
        return false
    }

    /// Whether the last page ends its stream, or at least no data follows it: a recording of a broadcast may stop
    /// anywhere. `true` for a pipe that was not read to its end.
    static func isThere(in source: ByteSource) -> Bool {
        if source.endSize == nil { return true }
        let end = OggEnd(of: source)
        return end.lastPage?.endsStream == true || end.isAfterPacket
    }

    /// Whether the last page belongs to another stream than the first.
    static func isOfLaterStream(_ source: ByteSource) -> Bool {
        guard let first = OggPages(source).first?.page, case let end = OggEnd(of: source), end.lastPage != nil else {
            return false
        }
        return !end.belongs(toFirst: first.serial, in: source)
    }

    /// Whether the source is a single stream from its first page to its last, and the last is marked as such.
    static func isOfFirstStream(_ source: ByteSource) -> Bool {
        guard let first = OggPages(source).first?.page, case let end = OggEnd(of: source) else { return false }
        return end.lastPage?.endsStream == true && end.belongs(toFirst: first.serial, in: source)
    }

    /// Whether the last page belongs to the first stream with this serial number. Programs without random numbers give
    /// all streams the same one.
    func belongs(toFirst serial: UInt32, in source: ByteSource) -> Bool {
        lastPage?.serial == serial && !numbersBeginAgain(in: source)
    }

    /// The start of a source, of which all pages are looked at.
    private static let startBytes: Int64 = 64 << 10

    /// Whether the numbers of pages begin again before the last page. Looks at all pages at the start of the source, and
    /// then at some, in steps that grow with the distance.
    private func numbersBeginAgain(in source: ByteSource) -> Bool {
        guard let lastPage else { return false }
        let pages = OggPages(source)
        var (place, number, hasSkipped) = (pages.first?.place ?? 0, Int64(0), false)
        while let (page, found) = pages.nextPage(from: place), found <= lastPlace {
            if page.serial == lastPage.serial {
                // Two pages that have changed places begin no stream.
                if Int64(page.number) < number - (hasSkipped ? 0 : 1) { return true }
                number = Int64(page.number)
            }
            let next = found + Int64(page.bytes)
            hasSkipped = found >= Self.startBytes
            place = min(hasSkipped ? max(next, found + found / 2) : next, max(found + 1, lastPlace))
        }
        return false
    }
}
