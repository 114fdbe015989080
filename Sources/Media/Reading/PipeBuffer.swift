/// The bytes of a pipe that were read and may be asked for again: the first 64 KiB, and a stretch up to the newest.
struct PipeBuffer {
    /// Where the stretch begins.
    private var start: Int64 = 0
    private var bytes: [UInt8] = []
    /// The first bytes of the pipe, for headers.
    private var head: [UInt8] = []
    /// The stretch is kept from here on, though no more than `most`. At first, everything is.
    private var neededFrom: Int64 = 0

    /// How far from the start of a pipe a header is looked for.
    static let headLimit = 64 * 1024
    /// As many of the newest bytes are kept in any case, for what the end of a source tells.
    private static let tailLimit = 1 << 20
    private static let most: Int64 = 64 << 20

    /// How many bytes were read of the pipe.
    var end: Int64 { start + Int64(bytes.count) }

    /// Adds what was read. What lies behind `place` is kept in any case.
    mutating func append(_ fresh: UnsafeBufferPointer<UInt8>, keeping place: Int64) {
        if head.count < Self.headLimit { head.append(contentsOf: fresh.prefix(Self.headLimit - head.count)) }
        bytes.append(contentsOf: fresh)
        let last = min(max(neededFrom, end - Self.most), place, end - Int64(Self.tailLimit))
        let needless = Int(clamping: last - start)
        // Not at each read, because what is kept moves.
        guard needless > max(Self.tailLimit, bytes.count / 2) else { return }
        bytes.removeFirst(needless)
        start += Int64(needless)
    }

    /// Gives up what lies before `place`. Smaller places than before change nothing that was given up.
    mutating func forget(before place: Int64) { neededFrom = place }

    /// Copies the bytes at `place` that are kept, and returns how many they are.
    func copy(_ place: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let (kept, offset) = place >= start ? (bytes, place - start) : (head, place)
        guard place >= 0, offset < Int64(kept.count) else { return 0 }
        let count = min(buffer.count, kept.count - Int(offset))
        kept.withUnsafeBytes { all in
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: all[Int(offset)..<(Int(offset) + count)]))
        }
        return count
    }

    /// What was read from `place` on, as of a pipe that begins there; `nil` if it is no longer kept.
    func rest(from place: Int64) -> PipeBuffer? {
        guard (start...end).contains(place) else { return nil }
        var rest = PipeBuffer()
        rest.bytes = Array(bytes[Int(place - start)...])
        rest.head = Array(rest.bytes.prefix(Self.headLimit))
        return rest
    }

    /// Lends the stretch; it must not leave the closure.
    func withKept(_ body: (UnsafeBufferPointer<UInt8>) -> Void) { bytes.withUnsafeBufferPointer(body) }
}
