import Conversion

/// Points as they are found, of which a bounded number of each kind is kept.
struct StatedPoints {
    private(set) var points: [SourcePoint] = []
    /// How many of each kind were found, kept or not.
    private(set) var counts: [SourcePoint.Kind: Int64] = [:]
    /// Frames of marks that are chapters, as libav or Sluice reads them, and points of their own.
    var chapterFrames: Set<Int64> = []

    mutating func add(_ point: SourcePoint) {
        let count = (counts[point.kind] ?? 0) + 1
        counts[point.kind] = count
        if count <= Int64(PointReport.mostOfKind) { points.append(point) }
    }

    mutating func add(_ others: StatedPoints) {
        for point in others.points { add(point) }
        for (kind, count) in others.counts {
            let kept = others.points.reduce(0) { $0 + ($1.kind == kind ? 1 : 0) }
            addUnread(count - Int64(kept), kind)
        }
    }

    /// Leaves out points, which then count as not found.
    mutating func keep(_ isWanted: (SourcePoint) -> Bool) {
        var kept: [SourcePoint] = []
        for point in points {
            if isWanted(point) {
                kept.append(point)
            } else {
                counts[point.kind] = (counts[point.kind] ?? 1) - 1
            }
        }
        points = kept
    }

    /// Counts points that were not read, because there are too many.
    mutating func addUnread(_ count: Int64, _ kind: SourcePoint.Kind) {
        if count > 0 { counts[kind] = (counts[kind] ?? 0).addingSaturated(count) }
    }
}

/// The first bytes of a chunk or block, and its numbers in its byte order.
struct ChunkBytes {
    let bytes: [UInt8]
    let isBig: Bool

    /// As much of a chunk as marks need.
    static let most: Int64 = 1 << 20

    /// `nil` if it cannot be read or is shorter than `least`.
    init?(_ source: ByteSource, at place: Int64, size: Int64, isBig: Bool, least: Int) {
        guard size >= Int64(least), let bytes = source.bytes(at: place, count: Int(min(size, Self.most))),
            bytes.count >= least
        else { return nil }
        (self.bytes, self.isBig) = (bytes, isBig)
    }

    var count: Int { bytes.count }

    /// A number without a sign. Eight bytes may make it negative.
    func number(at place: Int, _ width: Int) -> Int64? {
        guard place >= 0, width > 0, place <= bytes.count - width else { return nil }
        let digits = bytes[place..<place + width]
        return isBig ? bigEndian(digits) : littleEndian(digits)
    }

    func signed16(at place: Int) -> Int64? { number(at: place, 2).map { Int64(Int16(truncatingIfNeeded: $0)) } }

    func double(at place: Int) -> Double? {
        number(at: place, 8).map { Double(bitPattern: UInt64(bitPattern: $0)) }
    }

    func has(_ name: String, at place: Int) -> Bool {
        place >= 0 && place <= bytes.count - 4 && bytes[place..<place + 4].elementsEqual(name.utf8)
    }

    /// A text of at most `length` bytes, up to the first zero.
    func text(at place: Int, _ length: Int) -> String? {
        guard place >= 0, length > 0, place < bytes.count else { return nil }
        let end = min(bytes.count, place + min(length, ChunkBytes.longestText))
        let text = bytes[place..<end].prefix { $0 != 0 }
        let isCut = text.endIndex == end && end < place + length
        return PointText.text(isCut ? PointText.withoutCutCharacter(text) : text)
    }

    private static let longestText = 4096
}

/// Labels and titles, whose encoding chunks do not state.
enum PointText {
    /// UTF-8, or Latin-1 where it is none; `nil` if nothing is left without spaces at both ends.
    static func text(_ bytes: some Collection<UInt8>) -> String? {
        let text =
            String(validating: bytes, as: UTF8.self)
            ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        return bounded(text)
    }

    /// The bytes up to the last that are not part of a character of several bytes in UTF-8.
    static func withoutCutCharacter(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let start = bytes.suffix(4).lastIndex { $0 & 0xC0 != 0x80 }
        guard let start, bytes[start] >= 0xC0 else { return bytes }
        return bytes[..<start]
    }

    /// The text without spaces at its ends and with at most as many bytes as a point may have; `nil` if nothing is left.
    static func bounded(_ text: String?) -> String? {
        guard let text else { return nil }
        let isSpace: (Character) -> Bool = { $0.isWhitespace || $0 == "\0" }
        let trimmed = text.drop(while: isSpace)
        guard let last = trimmed.lastIndex(where: { !isSpace($0) }) else { return nil }
        let whole = trimmed[...last]
        guard whole.utf8.count > PointReport.mostTextBytes else { return String(whole) }
        var (short, bytes) = (String.UnicodeScalarView(), 3)
        for scalar in whole.unicodeScalars {
            bytes += UTF8.width(scalar)
            guard bytes <= PointReport.mostTextBytes else { break }
            short.append(scalar)
        }
        return String(short) + "…"
    }
}
