/// The edit list of a track: which stretches of it are played, in which order.
struct MP4Edits {
    struct Edit {
        /// The first tick of the track; -1 for an empty edit.
        let start: Int64
        /// In ticks of the movie.
        var length: Int64
        /// Where the file states the length, and in how many bytes.
        fileprivate let place: Int64
        fileprivate let bytes: Int
    }

    private let edits: [Edit]

    /// `nil` if the track has no edit list.
    init?(_ source: ByteSource, _ track: Range<Int64>) {
        guard let list = source.box("edts", in: track).flatMap({ source.box("elst", in: $0) }),
            let bytes = source.headBytes(
                at: list.lowerBound,
                count: Int(min(list.upperBound - list.lowerBound, 65_536))
            ),
            bytes.count >= 8
        else { return nil }
        let isWide = bytes[0] == 1
        let count = min(Int(bigEndian(bytes[4..<8])), (bytes.count - 8) / (isWide ? 20 : 12))
        edits = (0..<count).compactMap { number in
            let place = 8 + number * (isWide ? 20 : 12)
            let whole = list.lowerBound + Int64(place)
            guard isWide else {
                let start = Int32(truncatingIfNeeded: bigEndian(bytes[(place + 4)..<(place + 8)]))
                return Edit(
                    start: Int64(start),
                    length: bigEndian(bytes[place..<(place + 4)]),
                    place: whole,
                    bytes: 4
                )
            }
            let length = bigEndian(bytes[place..<(place + 8)])
            let start = bigEndian(bytes[(place + 8)..<(place + 16)])
            // Values beyond a year of microseconds are not meaningful. Below that, nothing overflows.
            guard length >= 0, length < 1 << 40, start < 1 << 40 else { return nil }
            return Edit(start: start, length: length, place: whole, bytes: 8)
        }
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

    /// The lengths that libav must see: it plays nothing of an edit whose length is zero, and less than there is of one
    /// whose length is rounded.
    static func patches(in source: ByteSource) -> [SourcePatch] {
        guard let movie = source.box("moov", in: source.boxRange), source.box("mvex", in: movie) == nil,
            let movieScale = source.box("mvhd", in: movie).flatMap({ MP4Facts.header(source, $0) })?.scale,
            movieScale > 0
        else { return [] }
        var patches: [SourcePatch] = []
        _ = source.eachBox(in: movie) { name, track -> Bool? in
            guard name == "trak", let edits = MP4Edits(source, track), let media = source.box("mdia", in: track),
                let (scale, length) = source.box("mdhd", in: media).flatMap({ MP4Facts.header(source, $0) }), scale > 0,
                let edit = edits.endless(length, scale, movieScale) ?? edits.completed(length, scale, movieScale)
            else { return nil }
            patches.append(SourcePatch(place: edit.place, bytes: bigEndianBytes(edit.length, count: edit.bytes)))
            return nil
        }
        return patches
    }
}
