import Conversion

/// Writes an APEv2 tag: items with any number of texts, and pictures as items with bytes.
enum APETag {
    /// libav shows nothing of a longer tag.
    static let mostBytes = 16 << 20

    /// The tag; empty if there is nothing to write.
    static func bytes(_ tags: [Tag], pictures: [Picture]) -> [UInt8] {
        var items: [[UInt8]] = NativeTags(tags, in: .ape).texts.map { text in
            item(text.name, kind: 0, Array(text.values.joined(separator: "\0").utf8))
        }
        var names: Set<String> = []
        for picture in pictures {
            let usual = PictureKind.apeItem(picture.kind)
            // Each name occurs once.
            var (name, number) = (usual, 1)
            while !names.insert(name).inserted {
                number += 1
                name = "\(usual) \(number)"
            }
            items.append(item(picture, name))
        }
        guard !items.isEmpty else { return [] }
        let content: [UInt8] = items.flatMap { $0 }
        // The size counts the footer, and not the header.
        let ends = little(2000) + little(content.count + 32) + little(items.count)
        // The last flag of the header tells it from the footer.
        let header: [UInt8] = mark + ends + [0, 0, 0, 0xA0]
        let footer: [UInt8] = mark + ends + [0, 0, 0, 0x80]
        let front = header + reserved
        let end = footer + reserved
        return front + content + end
    }

    /// Whether an item may have this name. libav stops reading a tag at any other, and names that begin tags are forbidden.
    static func takes(name: String) -> Bool {
        let bytes = name.utf8
        return (2...255).contains(bytes.count) && bytes.allSatisfy { (0x20...0x7E).contains($0) }
            && !["id3", "tag", "oggs", "mp+"].contains(name.lowercased())
    }

    private static let mark = Array("APETAGEX".utf8)
    private static let reserved = [UInt8](repeating: 0, count: 8)
    /// The flag of an item that is not text.
    private static let binary = 2

    private static func item(_ name: String, kind: Int, _ value: [UInt8]) -> [UInt8] {
        let head = little(value.count) + little(kind) + Array(name.utf8)
        return head + [0] + value
    }

    /// The name of a file stands in front of the picture and tells its format.
    private static func item(_ picture: Picture, _ name: String) -> [UInt8] {
        let file = Array((picture.isPNG ? "cover.png" : "cover.jpg").utf8)
        return item(name, kind: binary, file + [0] + picture.bytes)
    }

    private static func little(_ value: Int) -> [UInt8] { bigEndianBytes(Int64(value), count: 4).reversed() }
}
