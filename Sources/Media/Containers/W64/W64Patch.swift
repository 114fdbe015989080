import Conversion

/// Corrects the size of W64's data chunk: libav counts the padding to eight bytes as sound.
enum W64Patch {
    private static let dataID: [UInt8] = Array("data".utf8)
    private static let headBytes: Int64 = 24

    static func apply(to sink: ByteSink, _ format: ResolvedFormat, _ facts: WrittenFacts) throws {
        let bytesPerFrame = Int64(format.codec == .pcm ? format.bitDepth / 8 : 1) * Int64(format.channelCount)
        var place: Int64 = 40
        while place + headBytes <= sink.size {
            let head = try sink.bytes(at: place, count: Int(headBytes))
            let size = head[16..<24].reversed().reduce(Int64(0)) { $0 << 8 | Int64($1) }
            if head.starts(with: dataID) {
                let exact = headBytes + facts.frames * bytesPerFrame
                return try sink.patch(Array(bigEndianBytes(exact, count: 8).reversed()), at: place + 16)
            }
            guard size >= headBytes else { throw sink.malformed("a W64 chunk of \(Plural.count(size, "byte"))") }
            place += (size + 7) / 8 * 8
        }
        throw sink.malformed("no data chunk in W64")
    }
}
