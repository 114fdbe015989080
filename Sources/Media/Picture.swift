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

    /// `nil` for anything except a PNG or JPEG with a readable header, and for one whose sides no picture has.
    public init?(_ bytes: [UInt8]) {
        guard let header = PictureHeader(bytes), header.hasPossibleSides else { return nil }
        (width, height, isPNG) = (header.width, header.height, header.isPNG)
        self.bytes = bytes
    }

    /// Whether this is a PNG or JPEG that states sides which no picture has.
    static func hasImpossibleSides(_ bytes: [UInt8]) -> Bool { PictureHeader(bytes)?.hasPossibleSides == false }

    /// The most bytes that a picture may have. FLAC's metadata blocks, which hold most pictures, cannot hold more.
    public static let mostBytes = PictureHeader.mostBytes

    /// Reads the file behind `descriptor`, which must be a picture.
    public init(descriptor: Int32, stop: StopSignal = StopSignal()) throws {
        let source = try ByteSource(descriptor: descriptor, stop: stop)
        guard source.isSeekable, let size = source.size else {
            throw MediaError(.sourceNotSeekable, at: .open, "the cover must be a file", hint: "name a JPEG or PNG file")
        }
        guard size <= Int64(PictureHeader.mostFileBytes) else {
            let detail = "the cover has \(Plural.count(size, "byte"))"
            let hint = "choose a picture of less than \(Self.mostBytes >> 20) MiB"
            throw MediaError(.metadataTooLarge, at: .open, detail, hint: hint)
        }
        guard let bytes = source.bytes(at: 0, count: max(1, Int(size))), bytes.count == Int(size),
            let picture = Picture(bytes)
        else {
            let sides = "sides of 1 to \(PictureHeader.sides.upperBound) pixels"
            let detail = "the cover is neither a JPEG nor a PNG picture with \(sides)"
            throw MediaError(.unknownContainer, at: .open, detail, hint: "convert the picture, or choose another one")
        }
        self = picture
    }
}
