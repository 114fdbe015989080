/// The edit list of a track: which stretches of it are played, in which order.
struct MP4Edits {
    struct Edit {
        /// The first tick of the track; -1 for an empty edit.
        let start: Int64
        /// In ticks of the movie.
        var length: Int64
        /// How fast the track is played, in 1/65,536.
        let rate: Int64
        /// Where the file states the length, and in how many bytes.
        fileprivate let place: Int64
        fileprivate let bytes: Int
    }

    private let edits: [Edit]
    /// Whether some of the list is missing here, because it lies too far from the start of a pipe, is cut, or has numbers
    /// that no recording has.
    let isIncomplete: Bool

    /// `nil` if the track has no edit list.
    init?(_ source: ByteSource, _ track: Range<Int64>) {
        guard let list = source.box("edts", in: track).flatMap({ source.box("elst", in: $0) }),
            let bytes = source.bytes(
                at: list.lowerBound,
                count: Int(min(list.upperBound - list.lowerBound, 1 << 20))
            ),
            bytes.count >= 8
        else { return nil }
        let isWide = bytes[0] == 1
        let entryBytes = isWide ? 20 : 12
        let stated = Int(bigEndian(bytes[4..<8]))
        let count = min(stated, (bytes.count - 8) / entryBytes)
        edits = (0..<count).compactMap { number in
            let place = 8 + number * entryBytes
            let whole = list.lowerBound + Int64(place)
            let rate = bigEndian(bytes[(place + (isWide ? 16 : 8))..<(place + (isWide ? 20 : 12))])
            guard isWide else {
                let start = Int32(truncatingIfNeeded: bigEndian(bytes[(place + 4)..<(place + 8)]))
                return Edit(
                    start: Int64(start),
                    length: bigEndian(bytes[place..<(place + 4)]),
                    rate: rate,
                    place: whole,
                    bytes: 4
                )
            }
            let length = bigEndian(bytes[place..<(place + 8)])
            let start = bigEndian(bytes[(place + 8)..<(place + 16)])
            // Values beyond a year of microseconds are not meaningful. Below that, nothing overflows.
            guard length >= 0, length < 1 << 40, start < 1 << 40 else { return nil }
            return Edit(start: start, length: length, rate: rate, place: whole, bytes: 8)
        }
        isIncomplete = edits.count < stated
    }

    // MARK: Time lines

    /// All that is played, and the silence between and behind it. Where the sound begins in the movie does not count.
    private var played: [Edit] {
        let last = edits.count - 1
        return edits.enumerated().filter { $0.element.length > 0 || $0.offset == last && $0.element.start >= 0 }
            .map(\.element).drop { $0.start < 0 }.map { $0 }
    }

    /// Whether several parts of the track are played, in any order, or with silence between them. libav joins such
    /// parts at packets and leaves the silence out.
    var isTimeLine: Bool { played.count > 1 }

    /// The refusal of an edit that is not played as it was recorded; `nil` if there is none. Some writers swap the halves of
    /// the rate.
    var refusalOfRate: ContainerFacts.Refusal? {
        let plain: [Int64] = [1 << 16, 1]
        return played.first { $0.start >= 0 && !plain.contains($0.rate) }.map { edit in
            .editList("the edit list plays a part of the track at a rate of \(Double(edit.rate) / 65_536)")
        }
    }

    /// The pieces of the time line in frames, for a track that has `total` of them. `rate`, `mediaScale` and `movieScale`
    /// are frames and ticks in a second.
    func pieces(of total: Int64, rate: Int64, mediaScale: Int64, movieScale: Int64) -> [EditedTime.Piece] {
        func frames(_ ticks: Int64, _ scale: Int64) -> Int64 {
            Int64(clamping: (Int128(ticks) * Int128(rate) + Int128(scale / 2)) / Int128(scale))
        }
        // An edit that may end with the track, within the resolution of its ticks, does.
        let rounding = Self.rounding(rate: rate, movieScale: movieScale)
        var (ticks, pieces) = (Int64(0), [EditedTime.Piece]())
        for edit in played {
            let place = frames(ticks, movieScale)
            ticks = ticks.addingSaturated(edit.length)
            var length = frames(ticks, movieScale).addingSaturated(-place)
            guard edit.start >= 0 else {
                pieces.append(.init(start: nil, frames: length))
                continue
            }
            let start = min(total, frames(edit.start, mediaScale))
            if edit.length == 0 || start.addingSaturated(length) > total - rounding { length = total - start }
            pieces.append(.init(start: start, frames: length))
        }
        return pieces
    }

    // MARK: Lengths

    /// By how many frames the length of an edit may be rounded. Ticks that divide a frame are exact.
    static func rounding(rate: Int64, movieScale: Int64) -> Int64 {
        movieScale % rate == 0 ? 0 : rate / movieScale + 1
    }

    /// The ticks of the media, which states `length`. Some writers leave out the priming that the edit list names, although
    /// the packets, of which `ticks` finds the sum, count it. The list then plays more than the media states.
    func length(ofMedia length: Int64, _ mediaScale: Int64, _ movieScale: Int64, _ ticks: () -> Int64?) -> Int64 {
        guard let edit = edits.last, edit.start > 0, edit.length > 0 else { return length }
        let end = Int128(edit.start) * Int128(movieScale) + Int128(edit.length) * Int128(mediaScale)
        guard end > Int128(length) * Int128(movieScale) + Int128(mediaScale), let ticks = ticks(),
            ticks >= length.addingSaturated(edit.start)
        else { return length }
        return length + edit.start
    }

    /// The edits that play something of a track of `mediaLength` ticks.
    func lengths(upTo mediaLength: Int64, _ mediaScale: Int64, _ movieScale: Int64) -> [Edit] {
        let whole = endless(mediaLength, mediaScale, movieScale)
        return (edits.dropLast(whole == nil ? 0 : 1) + (whole.map { [$0] } ?? [])).filter {
            $0.start >= 0 && $0.length > 0
        }
    }

    /// The last edit with the length that reaches to the end of the track, if the file states none for it.
    ///
    /// The standard (ISO 14496-12) gives a length of zero this meaning only in fragmented files, but players give it
    /// everywhere, and an edit that plays nothing makes no sense.
    private func endless(_ mediaLength: Int64, _ mediaScale: Int64, _ movieScale: Int64) -> Edit? {
        guard var edit = edits.last, edit.start >= 0, edit.length == 0, mediaLength > edit.start else { return nil }
        let (ticks, scale) = (Int128(mediaLength - edit.start) * Int128(movieScale), Int128(mediaScale))
        edit.length = Int64(clamping: (ticks + scale - 1) / scale)
        return edit.length < (edit.bytes == 4 ? 1 << 32 : 1 << 40) ? edit : nil
    }

    /// The last edit with the length that reaches to the end of the track, if it ends less than a tick of the movie and
    /// a frame before it. Writers round the length down, and libav drops packets that begin behind it.
    private func completed(_ mediaLength: Int64, _ mediaScale: Int64, _ movieScale: Int64) -> Edit? {
        guard var edit = edits.last, edit.start >= 0, edit.length > 0, mediaLength > edit.start else { return nil }
        let (ticks, scale) = (Int128(mediaLength - edit.start) * Int128(movieScale), Int128(mediaScale))
        let missing = ticks - Int128(edit.length) * scale
        guard missing > 0, missing <= scale + Int128(movieScale) else { return nil }
        edit.length = Int64(clamping: (ticks + scale - 1) / scale)
        return edit.length < (edit.bytes == 4 ? 1 << 32 : 1 << 40) ? edit : nil
    }

    /// What libav must see: it plays nothing of an edit whose length is zero, and less than there is of one whose length
    /// is rounded. Where several parts are played, it shows all packets, and `EditedTime` says what is played of them.
    static func patches(in source: ByteSource) -> [SourcePatch] {
        guard let movie = source.box("moov", in: source.boxRange),
            let movieScale = source.box("mvhd", in: movie).flatMap({ MP4Facts.header(source, $0) })?.scale,
            movieScale > 0
        else { return [] }
        let isInFragments = source.box("mvex", in: movie) != nil
        var patches: [SourcePatch] = []
        _ = source.eachBox(in: movie) { name, track -> Bool? in
            guard name == "trak", let edits = MP4Edits(source, track), let media = source.box("mdia", in: track),
                let (scale, stated) = source.box("mdhd", in: media).flatMap({ MP4Facts.header(source, $0) }), scale > 0
            else { return nil }
            let length = edits.length(ofMedia: stated, scale, movieScale) {
                TimeTable(source, in: media, unit: 1, rate: 1, scale: 1)?.ticks
            }
            if isInFragments {
                if isSound(source, media) { patches += edits.withoutDelay(in: source) }
            } else if edits.isTimeLine, isSound(source, media), let name = nameOfList(source, track) {
                patches.append(SourcePatch(place: name, bytes: Array("free".utf8)))
            } else if let edit = edits.endless(length, scale, movieScale) ?? edits.completed(length, scale, movieScale)
            {
                patches.append(SourcePatch(place: edit.place, bytes: bigEndianBytes(edit.length, count: edit.bytes)))
            }
            return nil
        }
        return patches
    }

    /// The list without the silence that only says where the sound begins in the movie. In fragments, libav would forget that
    /// the edit behind it leaves out the priming.
    private func withoutDelay(in source: ByteSource) -> [SourcePatch] {
        guard !isTimeLine, let first = edits.first, first.start < 0, let sound = played.first else { return [] }
        let entryBytes = sound.bytes == 4 ? 12 : 20
        guard let entry = source.bytes(at: sound.place, count: entryBytes), entry.count == entryBytes else { return [] }
        return [
            SourcePatch(place: first.place - 4, bytes: [0, 0, 0, 1]), SourcePatch(place: first.place, bytes: entry),
        ]
    }

    /// Whether the track of this `mdia` is sound.
    private static func isSound(_ source: ByteSource, _ media: Range<Int64>) -> Bool {
        guard let handler = source.box("hdlr", in: media),
            let bytes = source.bytes(at: handler.lowerBound, count: 12),
            bytes.count == 12
        else { return false }
        return bytes[8...].elementsEqual("soun".utf8)
    }

    /// Where the name of the box stands that holds the list.
    static func nameOfList(_ source: ByteSource, _ track: Range<Int64>) -> Int64? {
        guard let box = source.box("edts", in: track) else { return nil }
        return [Int64(4), 12].map { box.lowerBound - $0 }.first { place in
            source.bytes(at: place, count: 4)?.elementsEqual("edts".utf8) == true
        }
    }
}
