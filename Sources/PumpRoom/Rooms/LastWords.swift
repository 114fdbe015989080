import Conversion
import Glibc

/// What a room writes to its standard error: all of it is taken, and the last of it kept.
final class LastWords {
    private static let limit = 4 << 10

    /// `nil` once the room has closed it.
    private(set) var source: Descriptor?
    private var kept: [UInt8] = []

    init(from source: Descriptor) {
        source.stopsWaiting()
        self.source = source
    }

    /// Takes what is there: up to a pipe's fill, so that a room that never stops talking does not hold anybody up.
    func listen(into buffer: inout [UInt8]) {
        guard let source else { return }
        let count = retryingInterrupts { read(source.number, &buffer, min(buffer.count, 64 << 10)) }
        guard count > 0 else {
            if count == 0 || errno != EAGAIN { self.source = nil }
            return
        }
        kept += buffer[..<count].suffix(Self.limit)
        if kept.count > Self.limit { kept.removeFirst(kept.count - Self.limit) }
    }

    /// The last of it as text, control characters escaped; `nil` if nothing was said.
    var text: String? { kept.isEmpty ? nil : String(decoding: kept, as: UTF8.self).plainLines }
}
