import Synchronization

/// Server-sent events for one subscriber. Any task may send; the server's thread delivers.
///
/// A subscriber that reads slowly costs no more memory than the ring: what does not fit is dropped together with all
/// that waits, and one `resync` event says so.
package final class EventChannel: Sendable {
    private struct State {
        var waiting: [UInt8] = []
        /// Whether the connection rests until something is sent.
        var isResting = false
        var isOver = false
        var wake: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())
    /// Called once, when the subscriber has gone.
    private let onEnd: @Sendable () -> Void
    private static let capacity = 64 << 10
    private static let resync = Array("event: resync\ndata: {}\n\n".utf8)

    package init(onEnd: @escaping @Sendable () -> Void = {}) { self.onEnd = onEnd }

    /// Sends the text of one or more events. Returns false if there was no space for it.
    @discardableResult
    package func send(_ text: some Collection<UInt8>) -> Bool {
        let (isSent, wake) = state.withLock { state -> (Bool, (@Sendable () -> Void)?) in
            guard !state.isOver else { return (true, nil) }
            let fits = state.waiting.count + text.count <= Self.capacity
            if fits { state.waiting += text } else { state.waiting = Self.resync }
            guard state.isResting else { return (fits, nil) }
            state.isResting = false
            return (fits, state.wake)
        }
        wake?()
        return isSent
    }

    /// Ends the stream after what waits.
    package func end() {
        let wake = state.withLock { state -> (@Sendable () -> Void)? in
            state.isOver = true
            guard state.isResting else { return nil }
            state.isResting = false
            return state.wake
        }
        wake?()
    }

    // MARK: - The server's side

    /// `wake` is called when something was sent while the connection rested.
    func begin(wake: @escaping @Sendable () -> Void) { state.withLock { $0.wake = wake } }

    enum Portion { case bytes(Int), rest, end }

    /// Copies what waits. `rest` promises that `wake` will be called.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Portion {
        state.withLock { state in
            if state.waiting.isEmpty {
                if state.isOver { return .end }
                state.isResting = true
                return .rest
            }
            let count = min(buffer.count, state.waiting.count)
            buffer.copyBytes(from: state.waiting.prefix(count))
            state.waiting.removeFirst(count)
            return .bytes(count)
        }
    }

    /// The connection has gone.
    func close() {
        let isFirst = state.withLock { state in
            defer { (state.isOver, state.wake) = (true, nil) }
            return state.wake != nil
        }
        if isFirst { onEnd() }
    }
}
