/// A read-ahead buffer for many small consecutive reads of a file.
final class ReadAhead {
    /// The largest read that uses the buffer; larger ones bypass it.
    let reach = 512
    private var buffer = [UInt8](repeating: 0, count: 32 * 1024)
    private var start: Int64 = 0
    private var count = 0

    /// `read` fills a buffer from a place of the file on, and returns the number of bytes; negative on failure.
    ///
    /// Returns fewer bytes at the end of the file; `nil` past it.
    func bytes(
        at place: Int64,
        count wanted: Int,
        _ read: (_ place: Int64, _ buffer: UnsafeMutableRawBufferPointer) -> Int
    ) -> [UInt8]? {
        if place < start || place > start.addingSaturated(Int64(count - wanted)) {
            start = place
            count = max(0, buffer.withUnsafeMutableBytes { read(place, $0) })
        }
        let offset = Int(place - start)
        guard offset < count else { return nil }
        return Array(buffer[offset..<min(offset + wanted, count)])
    }
}
