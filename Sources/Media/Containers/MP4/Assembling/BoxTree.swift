/// An MP4 box in memory: bytes, boxes, or long content that is produced when it is written.
struct BoxTree {
    enum Content {
        case bytes([UInt8])
        case boxes([BoxTree])
        /// The number of bytes, and a function that produces them in pieces.
        case stream(Int64, (_ emit: ([UInt8]) throws -> Void) throws -> Void)
    }

    let name: String
    var content: Content

    private static let parents: Set<String> = ["moov", "trak", "mdia", "minf", "stbl"]

    /// The consecutive boxes in `bytes`; `nil` if their sizes do not fit.
    static func parse(_ bytes: ArraySlice<UInt8>) -> [BoxTree]? {
        var boxes: [BoxTree] = []
        var rest = bytes
        while !rest.isEmpty {
            guard rest.count >= 8 else { return nil }
            let size = Int(bigEndian(rest.prefix(4)))
            guard size >= 8, size <= rest.count else { return nil }
            let name = String(decoding: rest.dropFirst(4).prefix(4), as: Unicode.ASCII.self)
            let body = rest.prefix(size).dropFirst(8)
            if parents.contains(name) {
                guard let inner = parse(body) else { return nil }
                boxes.append(BoxTree(name: name, content: .boxes(inner)))
            } else {
                boxes.append(BoxTree(name: name, content: .bytes(Array(body))))
            }
            rest = rest.dropFirst(size)
        }
        return boxes
    }

    /// The size of the box in bytes, header included.
    var size: Int64 {
        switch content {
        case .bytes(let bytes): 8 + Int64(bytes.count)
        case .boxes(let boxes): 8 + boxes.reduce(0) { $0 + $1.size }
        case .stream(let bytes, _): 8 + bytes
        }
    }

    /// Changes the box at the end of `path`, which starts below this one; `false` if there is no such box.
    mutating func change(_ path: ArraySlice<String>, _ change: (inout BoxTree) -> Void) -> Bool {
        guard let first = path.first else {
            change(&self)
            return true
        }
        guard case .boxes(var boxes) = content, let index = boxes.firstIndex(where: { $0.name == first }) else {
            return false
        }
        let found = boxes[index].change(path.dropFirst(), change)
        content = .boxes(boxes)
        return found
    }

    func write(_ emit: ([UInt8]) throws -> Void) throws {
        try emit(bigEndianBytes(size, count: 4) + Array(name.utf8))
        switch content {
        case .bytes(let bytes): try emit(bytes)
        case .boxes(let boxes): for box in boxes { try box.write(emit) }
        case .stream(_, let produce): try produce(emit)
        }
    }
}
