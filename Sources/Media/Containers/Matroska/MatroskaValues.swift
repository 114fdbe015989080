import Conversion

/// Several values of a tag in Matroska, where each is an element of its own.
///
/// libav writes one element for each name. So it gets all values of a tag as one text, with room between them for the head
/// of each further element, and `divide` makes elements of them in the finished output. No byte moves.
enum MatroskaValues {
    /// Whether several values of a tag of this name stay apart. libav writes some elsewhere, and takes what stands behind a
    /// hyphen for a language.
    static func areApart(_ name: String) -> Bool { !name.contains("-") && !names.contains(name.lowercased()) }

    private static let names: Set<String> = ["title", "stereo_mode", "creation_time", "encoding_tool", "duration"]
    /// The tags as libav gets them.
    static func joined(_ tags: [Tag]) -> [Tag] {
        tags.map { tag in
            guard tag.values.count > 1, areApart(tag.key) else { return tag }
            return Tag(key: tag.key, value: joined(tag))
        }
    }

    private static func joined(_ tag: Tag) -> String {
        // The name stands in an element as well, whose size takes a byte, or two for long ones.
        let name = tag.key.utf8.count
        let nameElement = 2 + (name < 127 ? 1 : 2) + name
        let room = SimpleTag.simpleTag.count + nameElement + SimpleTag.tagString.count + 2 * SimpleTag.wide
        return tag.values.joined(separator: String(repeating: " ", count: room))
    }

    /// Makes an element of each value in an output.
    static func divide(_ tags: [Tag], in sink: ByteSink) throws {
        var wanted: [[UInt8]: [String]] = [:]
        for tag in tags where tag.values.count > 1 && areApart(tag.key) {
            wanted[Array(joined(tag).utf8)] = tag.values
        }
        guard !wanted.isEmpty else { return }
        var missing = Set(wanted.keys)
        let source = try ByteSource(descriptor: sink.descriptor, stop: StopSignal())
        guard let segment = MatroskaElement.segment(of: source) else { throw sink.malformed("no Matroska segment") }
        for place in MatroskaTags.places(of: source, segment, sink.size).sorted() {
            guard let list = MatroskaElement(source, at: place), list.id == MatroskaTags.tags, let end = list.end,
                end <= sink.size
            else { continue }
            for element in simpleTags(in: list.body..<end, of: source) {
                guard let values = wanted[element.text] else { continue }
                try sink.patch(element.divided(into: values), at: element.place)
                missing.remove(element.text)
            }
            try restateChecksum(list.body..<end, in: sink)
        }
        guard missing.isEmpty else { throw sink.malformed("its tags are not as they were given to libav") }
    }

    /// An element with a name and a text.
    private struct SimpleTag {
        let place: Int64
        /// Bytes of its size.
        let sizeBytes: Int
        /// Bytes of the size of its text.
        let textSizeBytes: Int
        /// All that stands in front of the text.
        let front: [UInt8]
        let text: [UInt8]

        static let simpleTag: [UInt8] = [0x67, 0xC8]
        static let tagString: [UInt8] = [0x44, 0x87]
        /// Bytes of the sizes of further elements.
        static let wide = 8

        /// `nil` unless the text is the last part of the element.
        init?(_ element: MatroskaElement, in source: ByteSource) {
            guard let end = element.end else { return nil }
            var string: MatroskaElement?
            MatroskaElement.each(in: element.body..<end, of: source, atMost: 16) { part in
                if part.id == 0x4487 { string = part }
                return true
            }
            guard let string, string.end == end, string.place > element.body, end > string.body,
                let front = source.bytes(at: element.body, count: Int(string.place - element.body)),
                let text = source.bytes(at: string.body, count: Int(end - string.body))
            else { return nil }
            (place, self.front, self.text) = (element.place, front, text)
            (sizeBytes, textSizeBytes) = (Int(element.body - element.place) - 2, Int(string.body - string.place) - 2)
        }

        func divided(into values: [String]) -> [UInt8] {
            var bytes: [UInt8] = []
            for (index, value) in values.enumerated() {
                let text = Array(value.utf8)
                // The first element keeps the widths of its sizes.
                let (width, textWidth) = index == 0 ? (sizeBytes, textSizeBytes) : (Self.wide, Self.wide)
                bytes += Self.simpleTag + size(front.count + Self.tagString.count + textWidth + text.count, width)
                bytes += front + Self.tagString
                bytes += size(text.count, textWidth) + text
            }
            return bytes
        }

        /// A size in so many bytes, of which the first states how many.
        private func size(_ size: Int, _ width: Int) -> [UInt8] {
            bigEndianBytes(Int64(size) | 1 << Int64(7 * width), count: width)
        }
    }

    private static func simpleTags(in list: Range<Int64>, of source: ByteSource) -> [SimpleTag] {
        var found: [SimpleTag] = []
        MatroskaElement.each(in: list, of: source, atMost: TagCollector.mostValues) { tag in
            guard tag.id == 0x7373, let end = tag.end else { return true }
            MatroskaElement.each(in: tag.body..<end, of: source, atMost: TagCollector.mostParts) { part in
                if part.id == 0x67C8, let simple = SimpleTag(part, in: source) { found.append(simple) }
                return true
            }
            return true
        }
        return found
    }

    /// Writes the checksum of the tags, which stands in front of them, if there is one.
    private static func restateChecksum(_ list: Range<Int64>, in sink: ByteSink) throws {
        let bytes = try sink.bytes(at: list.lowerBound, count: Int(list.upperBound - list.lowerBound))
        guard bytes.count > 6, bytes[0] == 0xBF, bytes[1] == 0x84 else { return }
        let sum = checksum(bytes[6...])
        try sink.patch(bigEndianBytes(Int64(sum), count: 4).reversed(), at: list.lowerBound + 2)
    }

    /// The cyclic redundancy check of zip and Ethernet.
    static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
        var sum = UInt32.max
        for byte in bytes {
            let index = Int((sum ^ UInt32(byte)) & 0xFF)
            sum = table[index] ^ (sum >> 8)
        }
        return ~sum
    }

    private static let table: [UInt32] = {
        let polynomial: UInt32 = 0xEDB8_8320
        var table: [UInt32] = []
        for index in 0..<256 {
            var sum = UInt32(index)
            for _ in 0..<8 { sum = sum & 1 == 1 ? (sum >> 1) ^ polynomial : sum >> 1 }
            table.append(sum)
        }
        return table
    }()
}
