/// Several pieces of a source read as one sequence of bytes, such as a packet on several pages.
struct SplicedBytes {
    private let source: ByteSource
    private var pieces: [Range<Int64>] = []
    private(set) var count: Int64 = 0

    init(_ source: ByteSource, _ pieces: [Range<Int64>] = []) {
        self.source = source
        for piece in pieces { append(piece) }
    }

    mutating func append(_ piece: Range<Int64>) {
        if let last = pieces.last, last.upperBound == piece.lowerBound {
            pieces[pieces.count - 1] = last.lowerBound..<piece.upperBound
        } else {
            pieces.append(piece)
        }
        count += piece.upperBound - piece.lowerBound
    }

    /// The same bytes without the first `dropped`.
    func dropping(first dropped: Int64) -> SplicedBytes {
        var rest = SplicedBytes(source)
        var left = dropped
        for piece in pieces {
            let here = min(left, piece.upperBound - piece.lowerBound)
            left -= here
            if piece.lowerBound + here < piece.upperBound { rest.append((piece.lowerBound + here)..<piece.upperBound) }
        }
        return rest
    }

    /// Maps `bytes` at `place` of the sequence to places in the source, one per piece.
    func pieces(at place: Int64, of bytes: some Sequence<UInt8>) -> [(place: Int64, bytes: [UInt8])] {
        var (rest, before, found) = (Array(bytes)[...], Int64(0), [(place: Int64, bytes: [UInt8])]())
        for piece in pieces where !rest.isEmpty {
            let length = piece.upperBound - piece.lowerBound
            let from = max(place - before, 0)
            if from < length {
                let part = rest.prefix(Int(min(length - from, Int64(rest.count))))
                found.append((piece.lowerBound + from, Array(part)))
                rest = rest.dropFirst(part.count)
            }
            before += length
        }
        return found
    }

    /// The bytes from `place`, fewer at the end; `nil` if there are none.
    func bytes(at place: Int64, count wanted: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        var before: Int64 = 0
        for piece in pieces {
            let length = piece.upperBound - piece.lowerBound
            let from = place + Int64(bytes.count) - before
            if from < length, from >= 0 {
                let part = min(Int64(wanted - bytes.count), length - from)
                guard part > 0, let read = source.bytes(at: piece.lowerBound + from, count: Int(part)) else { break }
                bytes += read
                if read.count < part { break }
            }
            before += length
        }
        return bytes.isEmpty ? nil : bytes
    }
}
