import Conversion

/// A cover or another picture: a PNG or JPEG as stored in the file, never decoded.
public struct Picture: Sendable, Hashable {
    public let bytes: [UInt8]
    public let width: Int
    public let height: Int
    public let isPNG: Bool
    /// What it shows, by ID3's numbers: 3 is the front cover, 4 the back.
    public var kind: UInt8 = 3
    /// A description.
    public var text = ""

    public var mimeType: String { isPNG ? "image/png" : "image/jpeg" }

    /// JPEG has no longer sides, and libav writes none into MP4.
    static let sides = 1...65_535

    /// `nil` for anything except a PNG or JPEG with a readable header, and for one whose sides no picture has.
    public init?(_ bytes: [UInt8]) {
        guard let size = Picture.size(bytes), Picture.areSides(size) else { return nil }
        (width, height, isPNG) = (size.width, size.height, size.isPNG)
        self.bytes = bytes
    }

    /// Whether this is a PNG or JPEG that states sides which no picture has.
    static func hasImpossibleSides(_ bytes: [UInt8]) -> Bool { size(bytes).map { !areSides($0) } ?? false }

    private typealias Size = (width: Int, height: Int, isPNG: Bool)

    private static func areSides(_ size: Size) -> Bool { sides.contains(size.width) && sides.contains(size.height) }

    /// As the header states it; `nil` for anything except a PNG or JPEG.
    private static func size(_ bytes: [UInt8]) -> Size? {
        if let size = sizeOfPNG(bytes) { return (size.width, size.height, true) }
        guard let size = sizeOfJPEG(bytes) else { return nil }
        return (size.width, size.height, false)
    }

    /// The most bytes that a picture may have. FLAC's metadata blocks, which hold most pictures, cannot hold more.
    public static let mostBytes = 16 << 20

    /// Reads the file behind `descriptor`, which must be a picture.
    public init(descriptor: Int32) throws {
        let source = try ByteSource(descriptor: descriptor, stop: StopSignal())
        guard source.isSeekable, let size = source.size else {
            throw MediaError(.sourceNotSeekable, at: .open, "the cover must be a file", hint: "name a JPEG or PNG file")
        }
        // In FLAC's block, a description stands beside the picture.
        guard size <= Int64(Self.mostBytes - 4_096) else {
            let detail = "the cover has \(Plural.count(size, "byte"))"
            let hint = "choose a picture of less than \(Self.mostBytes >> 20) MiB"
            throw MediaError(.metadataTooLarge, at: .open, detail, hint: hint)
        }
        guard let bytes = source.bytes(at: 0, count: max(1, Int(size))), bytes.count == Int(size),
            let picture = Picture(bytes)
        else {
            let sides = "sides of 1 to \(Self.sides.upperBound) pixels"
            let detail = "the cover is neither a JPEG nor a PNG picture with \(sides)"
            throw MediaError(.unknownContainer, at: .open, detail, hint: "convert the picture, or choose another one")
        }
        self = picture
    }

    private static func sizeOfPNG(_ bytes: [UInt8]) -> (width: Int, height: Int)? {
        guard bytes.count >= 24, bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) else {
            return nil
        }
        return (bigEndian(bytes[16..<20]), bigEndian(bytes[20..<24]))
    }

    /// Walks the segments up to the frame header; it never enters entropy-coded data.
    private static func sizeOfJPEG(_ bytes: [UInt8]) -> (width: Int, height: Int)? {
        guard bytes.count > 4, bytes.starts(with: [0xFF, 0xD8]) else { return nil }
        var place = 2
        while place + 9 < bytes.count, bytes[place] == 0xFF {
            let marker = bytes[place + 1]
            let isFrameHeader = (0xC0...0xCF).contains(marker) && ![0xC4, 0xC8, 0xCC].contains(marker)
            if isFrameHeader {
                return (bigEndian(bytes[(place + 7)..<(place + 9)]), bigEndian(bytes[(place + 5)..<(place + 7)]))
            }
            place += 2 + bigEndian(bytes[(place + 2)..<(place + 4)])
        }
        return nil
    }

    private static func bigEndian(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }
}
