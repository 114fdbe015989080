/// Where the sound of a Matroska file begins on the file's clock.
enum MatroskaStart {
    private static let cluster: UInt64 = 0x1F43_B675
    private static let timestamp: UInt64 = 0xE7
    /// More elements than lie before the first cluster.
    private static let most = 64

    /// The time of the first cluster, in ticks of the file; `nil` if it is not found, as in a damaged file.
    static func ticks(_ source: ByteSource) -> Int64? {
        guard let segment = MatroskaElement.segment(of: source) else { return nil }
        var ticks: Int64?
        MatroskaElement.each(in: segment.body..<max(segment.body, segment.end ?? .max), of: source, atMost: most) {
            element in
            guard element.id == cluster else { return true }
            let part = MatroskaElement(source, at: element.body)
            // A checksum may come first.
            let time = part?.id == 0xBF ? part?.end.flatMap { MatroskaElement(source, at: $0) } : part
            if let time, time.id == timestamp, let end = time.end, (1...8).contains(end - time.body),
                let bytes = source.bytes(at: time.body, count: Int(end - time.body)),
                bytes.count == Int(end - time.body)
            {
                ticks = Plausible.ticks(bigEndian(bytes))
            }
            return false
        }
        return ticks
    }
}
