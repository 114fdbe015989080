import Glibc

/// A piece of a file in memory, for many small reads one behind the other.
final class ReadAhead {
    /// Larger pieces are read by themselves.
    let reach = 512
    private var buffer = [UInt8](repeating: 0, count: 32 * 1024)
    private var start: Int64 = 0
    private var count = 0

    /// Fewer bytes at the end of the file; `nil` behind it.
    func bytes(at place: Int64, count wanted: Int, of descriptor: Int32) -> [UInt8]? {
        if place < start || place > start.addingSaturated(Int64(count - wanted)) {
            start = place
            count = max(0, pread(descriptor, &buffer, buffer.count, off_t(place)))
        }
        let offset = Int(place - start)
        guard offset < count else { return nil }
        return Array(buffer[offset..<min(offset + wanted, count)])
    }
}
