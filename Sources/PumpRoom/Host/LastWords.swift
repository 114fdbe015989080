import Conversion
import Glibc
import System

/// Reads a room's standard error at a bounded rate, and keeps the end of it.
final class LastWords {
    private static let limit = 4 << 10
    /// A room that writes faster is blocked until the slot reads on. It then takes no frames and is killed as
    /// stalled, while the worker spends almost nothing on it.
    static let bytesPerSecond = 1 << 20

    /// Start of the current second, and bytes read in it.
    private var second = SuspendingClock.now
    private var taken = 0

    /// `nil` once the room has closed its end.
    private(set) var source: SharedDescriptor?
    private var kept: [UInt8] = []

    init(from source: SharedDescriptor) {
        source.stopsWaiting()
        self.source = source
    }

    /// The descriptor to poll; negative if it is closed or the room has used up its bytes for this second.
    func pollDescriptor(at now: SuspendingClock.Instant = .now) -> Int32 {
        if now - second >= .seconds(1) { (second, taken) = (now, 0) }
        return taken < Self.bytesPerSecond ? source?.number ?? -1 : -1
    }

    /// Reads what is available, at most what a pipe holds.
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

    /// The end of the output as text, with control characters escaped; `nil` if there was none.
    var text: String? { kept.isEmpty ? nil : String(decoding: kept, as: UTF8.self).plainLines }
}
