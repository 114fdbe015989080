extension OggPages {
    /// Writes the checksums of the pages of a finished output in which bytes at `places` have changed.
    static func restateChecksums(at places: [Int64], in sink: ByteSink) throws {
        var left = Set(places)
        var page: Int64 = 0
        while !left.isEmpty {
            let head = try sink.bytes(at: page, count: 282)
            guard head.count >= 27, head.starts(with: Array("OggS".utf8)), head.count >= 27 + Int(head[26]) else {
                throw sink.malformed("no page of Ogg begins at \(page)")
            }
            let lacing = head[27..<(27 + Int(head[26]))]
            let end = page + Int64(27 + lacing.count) + lacing.reduce(0) { $0 + Int64($1) }
            let here = left.filter { $0 < end }
            if !here.isEmpty {
                let bytes = try sink.bytes(at: page, count: Int(end - page))
                try sink.patch(checksum(of: bytes), at: page + 22)
                left.subtract(here)
            }
            page = end
        }
    }
}
