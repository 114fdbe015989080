/// The marks of encryption in MP4.
enum MP4Protection {
    /// Whether `fourCC` is the code of an encrypted track, which other containers carry as well.
    static func marks(_ fourCC: String) -> Bool { fourCCs.contains(fourCC) }

    /// The sample entry codes of encrypted tracks.
    private static let fourCCs: Set<String> = ["drms", "aavd", "enca", "drmi"]

    private static let greatestHead = 8 << 20

    /// The code of an encrypted track in a file that cannot be opened without a key; `nil` if it has none.
    static func sampleEntry(in source: ByteSource) -> String? {
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
}
