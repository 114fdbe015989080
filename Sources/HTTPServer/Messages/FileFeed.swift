import Synchronization

/// A part of a file on its way to a client.
///
/// Tasks read it piece by piece, and the server's thread only copies what is there. A disk that is slow or
/// silent therefore holds up this answer and no other.
package final class FileFeed: Sendable {
    enum Step {
        case bytes(Int)
        /// Nothing is there yet; `wake` is called when it is.
        case rest
        /// The file ended early, or cannot be read.
        case failed
    }

    private struct State {
        var piece: [UInt8] = []
        /// Bytes of the piece that were taken.
        var taken = 0
        /// Where the next piece begins.
        var next: Int64
        var isReading = false
        var hasFailed = false
        var isClosed = false
        var wake: (@Sendable () -> Void)?
    }

    private let pieceAt: @Sendable (Int64, Int) async throws -> [UInt8]
    private let onEnd: @Sendable () -> Void
    private let end: Int64
    private let state: Mutex<State>
    private let kept = Mutex<(any Sendable)?>(nil)
    private static let pieceBytes: Int64 = 256 << 10

    /// The length of the part.
    let length: Int64

    /// `pieceAt` reads so many bytes at an offset of the file, and throws if it cannot. `onEnd` is called once, when the
    /// file is no longer needed.
    package init(
        _ part: Range<Int64>,
        pieceAt: @escaping @Sendable (_ offset: Int64, _ count: Int) async throws -> [UInt8],
        onEnd: @escaping @Sendable () -> Void
    ) {
        (self.pieceAt, self.onEnd) = (pieceAt, onEnd)
        (end, length) = (part.upperBound, part.upperBound - part.lowerBound)
        state = Mutex(State(next: part.lowerBound))
    }

    deinit { close() }

    /// Keeps an object for as long as the answer is being sent.
    package func keep(_ object: any Sendable) { kept.withLock { $0 = object } }

    /// Ends the answer early.
    package func stop() {
        let wake = state.withLock { state in
            (state.hasFailed, state.piece, state.taken) = (true, [], 0)
            return state.wake
        }
        wake?()
    }

    // MARK: - The server's side

    func begin(_ wake: @escaping @Sendable () -> Void) { state.withLock { $0.wake = wake } }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Step {
        let (step, place) = state.withLock { state -> (Step, Int64?) in
            if state.taken < state.piece.count {
                let count = min(buffer.count, state.piece.count - state.taken)
                state.piece.withUnsafeBytes {
                    buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[state.taken..<state.taken + count]))
                }
                state.taken += count
                return (.bytes(count), nil)
            }
            if state.hasFailed || state.isClosed { return (.failed, nil) }
            guard !state.isReading else { return (.rest, nil) }
            state.isReading = true
            return (.rest, state.next)
        }
        if let place { fetch(at: place) }
        return step
    }

    func close() {
        let isFirst = state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
        if isFirst { onEnd() }
    }

    // MARK: - Reading

    private func fetch(at place: Int64) {
        let count = Int(min(Self.pieceBytes, end - place))
        Task {
            // `try?`: the client learns of every failure in the same way, by an answer that ends early.
            let piece = try? await pieceAt(place, count)
            let wake = state.withLock { state in
                state.isReading = false
                if let piece, !piece.isEmpty, !state.hasFailed {
                    (state.piece, state.taken) = (piece, 0)
                    state.next = place + Int64(piece.count)
                } else {
                    state.hasFailed = true
                }
                return state.wake
            }
            wake?()
        }
    }
}
