import Conversion

/// Writes Matroska's exact length. libav counts whole milliseconds, priming and padding included, and writes none
/// for clips shorter than a millisecond, for which readers then invent one.
enum MatroskaPatch {
    private enum ID {
        static let segment: Int64 = 0x1853_8067
        static let info: Int64 = 0x1549_A966
        static let duration: Int64 = 0x4489
        static let cluster: Int64 = 0x1F43_B675
        static let blockGroup: Int64 = 0xA0
        static let discardPadding: Int64 = 0x75A2
    }

    private struct Element {
        let id: Int64
        let body: Int64
        let end: Int64
    }

    static func apply(to sink: ByteSink, _ format: ResolvedFormat, _ facts: WrittenFacts) throws {
        let segment = try first(ID.segment, in: sink, from: 0, to: sink.size)
        let info = try first(ID.info, in: sink, from: segment.body, to: segment.end)
        let duration = try first(ID.duration, in: sink, from: info.body, to: info.end)
        guard duration.end - duration.body == 8 else {
            throw sink.malformed("the Matroska duration is not a 64-bit float")
        }
        let milliseconds = Double(facts.frames) * 1000 / Double(format.sampleRateHz)
        try sink.patch(bigEndianBytes(Int64(bitPattern: milliseconds.bitPattern), count: 8), at: duration.body)
    }

    /// Negates the trim of a block group of the first cluster, given its number.
    ///
    /// libav writes only trims at a packet's end, as positive numbers, but reads negative ones as trims at the start.
    static func turnTrim(ofGroup number: Int, in sink: ByteSink) throws {
        let segment = try first(ID.segment, in: sink, from: 0, to: sink.size)
        let cluster = try first(ID.cluster, in: sink, from: segment.body, to: segment.end)
        var group = try first(ID.blockGroup, in: sink, from: cluster.body, to: cluster.end)
        for _ in 0..<number { group = try first(ID.blockGroup, in: sink, from: group.end, to: cluster.end) }
        let trim = try first(ID.discardPadding, in: sink, from: group.body, to: group.end)
        let old = try sink.bytes(at: trim.body, count: Int(trim.end - trim.body))
        let value = bigEndian(old)
        guard value > 0, old.first.map({ $0 < 0x80 }) == true else {
            throw sink.malformed("no trim in block group \(number)")
        }
        try sink.patch(bigEndianBytes(-value, count: old.count), at: trim.body)
    }

    private static func first(_ id: Int64, in sink: ByteSink, from start: Int64, to end: Int64) throws -> Element {
        var place = start
        while place < end {
            let element = try element(in: sink, at: place, limit: end)
            if element.id == id { return element }
            place = element.end
        }
        throw sink.malformed("no Matroska element \(String(id, radix: 16))")
    }

    private static func element(in sink: ByteSink, at place: Int64, limit: Int64) throws -> Element {
        let head = try sink.bytes(at: place, count: 12)
        guard let first = head.first, first != 0 else { throw sink.malformed("a Matroska element at \(place)") }
        let idLength = first.leadingZeroBitCount + 1
        guard idLength <= 4, head.count > idLength, head[idLength] != 0 else {
            throw sink.malformed("a Matroska element at \(place)")
        }
        let sizeLength = head[idLength].leadingZeroBitCount + 1
        guard head.count >= idLength + sizeLength else { throw sink.malformed("a Matroska element at \(place)") }
        let mask = (Int64(1) << (7 * Int64(sizeLength))) - 1
        let size = bigEndian(head[idLength..<(idLength + sizeLength)]) & mask
        let body = place + Int64(idLength + sizeLength)
        // All ones means an unknown size: the element extends to the end of its parent.
        let end = size == mask ? limit : body + size
        guard end <= limit else { throw sink.malformed("a Matroska element at \(place)") }
        return Element(id: bigEndian(head[0..<idLength]), body: body, end: end)
    }
}
