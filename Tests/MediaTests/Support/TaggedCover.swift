import TestSupport

/// Tags with covers as taggers write them: in a chunk if the format has one, else before the sound.
enum TaggedCover {
    /// An ID3v2.3 tag with consecutive pictures, the front cover first.
    static func id3(_ pictures: [[UInt8]]) -> [UInt8] {
        let frames = pictures.enumerated().flatMap { number, picture -> [UInt8] in
            var body: [UInt8] = [0] + Array("image/jpeg".utf8)
            body += [0, UInt8(number == 0 ? 3 : 3 + number), 0] + picture
            var frame = Array("APIC".utf8)
            frame.append(big: UInt32(body.count))
            return frame + [0, 0] + body
        }
        // Seven bits per byte.
        let size = [21, 14, 7, 0].map { UInt8(frames.count >> $0 & 0x7F) }
        return Array("ID3".utf8) + [3, 0, 0] + size + frames
    }

    /// An APE tag with a front cover.
    static func ape(_ picture: [UInt8]) -> [UInt8] {
        let value = Array("cover.jpg".utf8) + [0] + picture
        let item = littleEndian(UInt32(value.count)) + littleEndian(2) + Array("Cover Art (Front)".utf8) + [0] + value
        func head(_ flags: UInt32) -> [UInt8] {
            Array("APETAGEX".utf8) + littleEndian(2000) + littleEndian(UInt32(item.count + 32)) + littleEndian(1)
                + littleEndian(flags) + [UInt8](repeating: 0, count: 8)
        }
        return head(0xA000_0000) + item + head(0x8000_0000)
    }

    /// The tag's place among the chunks of a WAV.
    enum Place: String, CaseIterable, Sendable { case beforeFormat, beforeSound, behindSound }

    /// The WAV with one additional chunk.
    static func wav(_ bytes: [UInt8], _ tag: [UInt8], _ place: Place, name: String = "id3 ") throws -> [UInt8] {
        guard let sound = Bytes.find("data", in: bytes) else { throw SupportError("add a tag", "no data chunk") }
        let at =
            switch place {
            case .beforeFormat: 12
            case .beforeSound: sound
            case .behindSound: bytes.count
            }
        let padding = [UInt8](repeating: 0, count: tag.count & 1)
        let chunk = Array(name.utf8) + littleEndian(UInt32(tag.count)) + tag + padding
        var tagged = Damage.inserted(chunk, into: bytes, at: at)
        tagged.replaceSubrange(4..<8, with: littleEndian(UInt32(tagged.count - 8)))
        return tagged
    }

    /// The AIFF with one additional chunk, before or after all others.
    static func aiff(_ bytes: [UInt8], _ tag: [UInt8], isInFront: Bool) -> [UInt8] {
        var chunk = Array("ID3 ".utf8)
        chunk.append(big: UInt32(tag.count))
        chunk += tag + [UInt8](repeating: 0, count: tag.count & 1)
        var tagged = Damage.inserted(chunk, into: bytes, at: isInFront ? 12 : bytes.count)
        var size: [UInt8] = []
        size.append(big: UInt32(tagged.count - 8))
        tagged.replaceSubrange(4..<8, with: size)
        return tagged
    }

    private static func littleEndian(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
}
