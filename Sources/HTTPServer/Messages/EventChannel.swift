import Synchronization

/// Server-sent events for one subscriber. Any task may send; the server's thread delivers.
///
/// A subscriber that reads slowly costs no more memory than `capacity`: its sender keeps back what does not fit, and
/// `onDrain` asks for it when everything has been read.
package final class EventChannel: Sendable {
    private struct State {
        var waiting: [UInt8] = []
        /// Whether the connection rests until something is sent.
        var isResting = false
        var isOver = false
        /// Whether the subscriber has gone.
        var isClosed = false
        /// Whether the sender has kept something back.
        var wantsMore = false
        var wake: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())
    private let kept = Mutex<(any Sendable)?>(nil)
    /// Called once, when the subscriber has gone.
    private let onEnd: @Sendable () -> Void
    private let onDrain: @Sendable () -> Void
    /// The most bytes that may wait.
    package static let capacity = 64 << 10

    package init(onEnd: @escaping @Sendable () -> Void = {}, onDrain: @escaping @Sendable () -> Void = {}) {
        (self.onEnd, self.onDrain) = (onEnd, onDrain)
    }

    /// How many bytes may be sent now. Reading only makes more space, so a single sender can rely on it.
    package var space: Int { state.withLock { max(0, Self.capacity - $0.waiting.count) } }

    /// Sends the text of one or more events, no longer than `space`. `wantsMore`: there is more, for which `onDrain` asks
    /// once all of this has been read.
    package func send(_ text: some Collection<UInt8>, wantsMore: Bool = false) {
        let wake = state.withLock { state -> (@Sendable () -> Void)? in
            state.wantsMore = wantsMore
            guard !state.isOver, !text.isEmpty else { return nil }
            // The sender took no more than `space`, which it alone reduces.
            precondition(state.waiting.count + text.count <= Self.capacity, "only its sender reduces `space`")
            state.waiting += text
            guard state.isResting else { return nil }
            state.isResting = false
            return state.wake
        }
        wake?()
    }

    /// Keeps an object for as long as the stream lasts.
    package func keep(_ object: any Sendable) { kept.withLock { $0 = object } }

    /// Ends the stream: after what waits, or without it.
    package func end(droppingWhatWaits drops: Bool = false) {
        let wake = state.withLock { state -> (@Sendable () -> Void)? in
            state.isOver = true
            if drops { state.waiting = [] }
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
        let (portion, isDrained) = state.withLock { state -> (Portion, Bool) in
            if state.waiting.isEmpty {
                if state.isOver { return (.end, false) }
                state.isResting = true
                return (.rest, false)
            }
            let count = min(buffer.count, state.waiting.count)
            buffer.copyBytes(from: state.waiting.prefix(count))
            state.waiting.removeFirst(count)
            let isDrained = state.waiting.isEmpty && state.wantsMore
            if isDrained { state.wantsMore = false }
            return (.bytes(count), isDrained)
        }
        if isDrained { onDrain() }
        return portion
    }

    /// The connection has gone, maybe before the stream began.
    func close() {
        let isFirst = state.withLock { state in
            defer { (state.isOver, state.isClosed, state.wake) = (true, true, nil) }
            return !state.isClosed
        }
        kept.withLock { $0 = nil }
        if isFirst { onEnd() }
    }
}
