import Conversion

/// A box of a finished MP4 output.
struct Box {
    let name: String
    /// The offsets of its header, of its content, and of the next box.
    let start: Int64
    let body: Int64
    let end: Int64
}

extension ByteSink {
    /// The MP4 boxes that lie next to each other from `start` to `end`.
    func boxes(from start: Int64, to end: Int64) throws -> [Box] {
        var found: [Box] = []
        var place = start
        while place + 8 <= end {
            let head = try bytes(at: place, count: 16)
            var size = bigEndian(head[0..<4])
            var body = place + 8
            if size == 1 {
                size = bigEndian(head[8..<16])
                body += 8
            } else if size == 0 {
                size = end - place
            }
            guard size >= body - place, place + size <= end else { throw malformed("an MP4 box at \(place)") }
            found.append(Box(name: latin(head[4..<8]), start: place, body: body, end: place + size))
            place += size
        }
        return found
    }

    func box(_ name: String, from start: Int64, to end: Int64) throws -> Box {
        guard let box = try boxes(from: start, to: end).first(where: { $0.name == name }) else {
            throw malformed("no \(name) box")
        }
        return box
    }

    private func latin(_ bytes: ArraySlice<UInt8>) -> String { String(bytes.map { Character(UnicodeScalar($0)) }) }
}
