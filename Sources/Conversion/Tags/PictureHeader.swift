/// What the header of a PNG or JPEG picture states. Nothing behind the header is read.
public struct PictureHeader: Sendable, Hashable {
    public let width: Int
    public let height: Int
    public let isPNG: Bool
    /// Whether players show pictures of this coding. They show no JPEG that is lossless, arithmetic or hierarchical, or whose
    /// samples do not have 8 bits.
    public let isCommon: Bool

    /// JPEG has no longer sides, and libav writes none into MP4.
    public static let sides = 1...65_535

    /// The most bytes that a picture may have. FLAC's metadata blocks, which hold most pictures, cannot hold more.
    public static let mostBytes = 16 << 20

    /// The most bytes of a file that becomes a cover: in FLAC's block, a description stands beside the picture.
    public static let mostFileBytes = mostBytes - 4_096

    public var hasPossibleSides: Bool { Self.sides.contains(width) && Self.sides.contains(height) }

    /// Of a picture in memory; `nil` for anything except a PNG or JPEG.
    public init?(_ bytes: [UInt8]) {
        self.init { place, count in
            place < bytes.count ? bytes[place..<min(bytes.count, place + count)] : []
        }
    }

    /// Of a picture elsewhere: `read` returns as many bytes from a place on, or fewer at the end. `nil` for anything except a
    /// PNG or JPEG.
    public init?(reading read: (_ place: Int, _ count: Int) -> ArraySlice<UInt8>) {
        let start = read(0, 24)
        if let found = Self.png(start) ?? Self.jpeg(start, read) { self = found } else { return nil }
    }

    private init(width: Int, height: Int, isPNG: Bool, isCommon: Bool) {
        (self.width, self.height, self.isPNG, self.isCommon) = (width, height, isPNG, isCommon)
    }

    private static func png(_ start: ArraySlice<UInt8>) -> PictureHeader? {
        guard start.count >= 24, start.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) else {
            return nil
        }
        let first = start.startIndex
        let (width, height) = (start[(first + 16)..<(first + 20)], start[(first + 20)..<(first + 24)])
        // The first chunk is IHDR; iOS programs have variants with another one, which no player shows.
        let isCommon = start[(first + 12)..<(first + 16)].elementsEqual("IHDR".utf8)
        return PictureHeader(width: bigEndian(width), height: bigEndian(height), isPNG: true, isCommon: isCommon)
    }

    /// More segments than any picture has: 16 MiB of the shortest ones would be millions.
    private static let mostSegments = 10_000

    /// Walks the segments up to the frame header; it never enters entropy-coded data.
    private static func jpeg(
        _ start: ArraySlice<UInt8>,
        _ read: (_ place: Int, _ count: Int) -> ArraySlice<UInt8>
    ) -> PictureHeader? {
        guard start.starts(with: [0xFF, 0xD8]) else { return nil }
        var place = 2
        for _ in 0..<mostSegments {
            // Marker, length, and of a frame header the bits of a sample, the height and the width.
            let bytes = Array(read(place, 9))
            guard bytes.count >= 4, bytes[0] == 0xFF else { return nil }
            let marker = bytes[1]
            // Any number of these may stand before a marker.
            if marker == 0xFF {
                place += 1
                continue
            }
            // A scan before any frame header.
            if marker == 0xDA || marker == 0xD9 { return nil }
            let isFrameHeader = (0xC0...0xCF).contains(marker) && ![0xC4, 0xC8, 0xCC].contains(marker)
            if isFrameHeader {
                guard bytes.count == 9 else { return nil }
                return PictureHeader(
                    width: bigEndian(bytes[7...]),
                    height: bigEndian(bytes[5..<7]),
                    isPNG: false,
                    isCommon: marker <= 0xC2 && bytes[4] == 8
                )
            }
            let length = bigEndian(bytes[2..<4])
            guard length >= 2 else { return nil }
            place += 2 + length
        }
        return nil
    }

    private static func bigEndian(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }
}
