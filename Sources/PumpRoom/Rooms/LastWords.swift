import Conversion
import Glibc

/// What a room writes to its standard error: the slot reads it, at a bounded rate, and keeps the last of it.
final class LastWords {
    private static let limit = 4 << 10
    /// A room that writes faster waits for the slot. It then takes no frames and is killed as stalled, while the worker has spent next
    /// to nothing on it.
    static let bytesPerSecond = 1 << 20

    /// When the current second began, and what was read in it.
    private var second = SuspendingClock.now
    private var taken = 0

    /// `nil` once the room has closed it.
    private(set) var source: Descriptor?
    private var kept: [UInt8] = []

    init(from source: Descriptor) {
        source.stopsWaiting()
        self.source = source
    }

    /// The descriptor to wait for; negative if there is none, or if the room has written as much as it may in this second.
    func ear(at now: SuspendingClock.Instant = .now) -> Int32 {
        if now - second >= .seconds(1) { (second, taken) = (now, 0) }
        return taken < Self.bytesPerSecond ? source?.number ?? -1 : -1
    }

    /// Reads what is there, at most a pipe's fill.
    func listen(into buffer: inout [UInt8]) {
        guard let source else { return }
        let count = retryingInterrupts { read(source.number, &buffer, min(buffer.count, 64 << 10)) }
        guard count > 0 else {
            if count == 0 || errno != EAGAIN { self.source = nil }
            return
        }
        taken += count
        kept += buffer[..<count].suffix(Self.limit)
        if kept.count > Self.limit { kept.removeFirst(kept.count - Self.limit) }
    }

    /// The last of it as text, control characters escaped; `nil` if nothing was said.
    var text: String? { kept.isEmpty ? nil : String(decoding: kept, as: UTF8.self).plainLines }
}
