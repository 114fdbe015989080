/// Detects protected (encrypted) files, including those that cannot be opened without a key.
enum Protection {
    /// The sample entry codes of encrypted tracks in MP4 and related formats.
    static let fourCCs: Set<String> = ["drms", "aavd", "enca", "drmi"]

    /// The protection mark in a file that libav opens with `demuxer`; `nil` if there is none.
    static func mark(in source: ByteSource, demuxer: String) -> String? {
        switch demuxer {
        case "mov,mp4,m4a,3gp,3g2,mj2": sampleEntry(source)
        case "asf": hasContentEncryption(source) ? "Windows Media DRM" : nil
        default: nil
        }
    }

    private static let greatestHead = 8 << 20

    private static func sampleEntry(_ source: ByteSource) -> String? {
        var place: Int64 = 0
        for _ in 0..<1000 {
            guard let head = source.bytes(at: place, count: 16), head.count >= 8 else { return nil }
            var length = bigEndian(head[..<4])
            if length == 1, head.count == 16 { length = bigEndian(head[8..<16]) }
            if head[4..<8].elementsEqual("moov".utf8) {
                let count = Int(min(max(length, 0), Int64(greatestHead)))
                return source.bytes(at: place, count: count).flatMap(firstProtectedEntry)
            }
            guard length >= 8, place < Int64.max - length else { return nil }
            place += length
        }
        return nil
    }

    /// Looks for the first entry of a sample description, which follows its name, version and count.
    private static func firstProtectedEntry(_ bytes: [UInt8]) -> String? {
        let name = Array("stsd".utf8)
        guard bytes.count >= 20 else { return nil }
        for place in 0..<(bytes.count - 19)
        where bytes[place] == name[0] && bytes[place..<(place + 4)].elementsEqual(name) {
            let code = String(decoding: bytes[(place + 16)..<(place + 20)], as: UTF8.self)
            if fourCCs.contains(code) { return code }
        }
        return nil
    }

    /// The identifier of ASF's Content Encryption Object.
    private static let contentEncryption: [UInt8] = [
        0xFB, 0xB3, 0x11, 0x22, 0x23, 0xBD, 0xD2, 0x11, 0xB4, 0xB7, 0x00, 0xA0, 0xC9, 0x55, 0xFC, 0x6E,
    ]

    private static func hasContentEncryption(_ source: ByteSource) -> Bool {
        guard let head = source.bytes(at: 0, count: 1 << 16), head.count >= 46 else { return false }
        return (30...(head.count - 16)).contains {
            head[$0] == contentEncryption[0] && head[$0..<($0 + 16)].elementsEqual(contentEncryption)
        }
    }
}
