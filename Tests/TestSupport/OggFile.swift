/// The pages of an Ogg file, so that tests can drop, renumber and join them.
public struct OggFile: Sendable {
    /// The pages without sound; the others are in `sound`.
    public var headers: [[UInt8]] = []
    /// The pages with sound.
    public var sound: [[UInt8]] = []

    /// Takes a file apart; throws if a page has too few bytes for a number.
    public init(_ bytes: [UInt8]) throws {
        var place = 0
        while place < bytes.count {
            let table = bytes[(place + 27)..<(place + 27 + Int(bytes[place + 26]))]
            let end = table.endIndex + table.reduce(0) { $0 + Int($1) }
            let page = Array(bytes[place..<end])
            let granule = try Bytes.little(Int64.self, in: page, at: 6)
            if granule == 0, sound.isEmpty { headers.append(page) } else { sound.append(page) }
            place = end
        }
    }

    /// Sets the position up to which `page` counts.
    public static func setGranule(_ granule: Int64, of page: inout [UInt8]) {
        page.replaceSubrange(6..<14, with: withUnsafeBytes(of: granule.littleEndian, Array.init))
    }

    /// The whole file.
    public var bytes: [UInt8] { (headers + sound).flatMap { $0 } }

    /// The same pages, renumbered without gaps and with correct checksums.
    public var renumbered: [UInt8] { renumbering { UInt32($0) } }

    /// The same pages with other numbers and correct checksums. `number` gives the number of a page by its index.
    public func renumbering(_ number: (Int) -> UInt32) -> [UInt8] {
        (headers + sound).enumerated().flatMap { index, page in
            var page = page
            page.replaceSubrange(18..<22, with: withUnsafeBytes(of: number(index).littleEndian, Array.init))
            page.replaceSubrange(22..<26, with: [0, 0, 0, 0])
            let sum = OggFile.checksum(page)
            page.replaceSubrange(22..<26, with: withUnsafeBytes(of: sum.littleEndian, Array.init))
            return page
        }
    }

    /// CRC-32 with Ethernet's polynomial, most significant bit first, without inversion: RFC 3533.
    private static func checksum(_ page: [UInt8]) -> UInt32 {
        page.reduce(0) { sum, byte in
            (0..<8).reduce(sum ^ UInt32(byte) << 24) { sum, _ in
                sum & 0x8000_0000 != 0 ? sum << 1 ^ 0x04C1_1DB7 : sum << 1
            }
        }
    }
}
