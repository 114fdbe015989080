import Synchronization

/// The body of a request while it arrives, in pieces.
///
/// The server's thread puts pieces in and one task takes them out. If the task is slower than the client, the server
/// reads no more from the client, so a body of any length needs the same memory.
package final class BodyStream: AsyncSequence, Sendable {
    package typealias Element = [UInt8]

    /// The client went away, or the server stopped, before the body was complete.
    package struct Interrupted: Error { package init() {} }

    private enum End { case open, complete, interrupted, unwanted }

    private struct State {
        var pieces: [[UInt8]] = []
        var bytes = 0
        var end = End.open
        var taker: CheckedContinuation<[UInt8]?, any Error>?
        /// Whether the server waits for space.
        var isHeld = false
    }

    private let state = Mutex(State())
    private let hasRoom: @Sendable () -> Void
    /// How many bytes may wait.
    private static let capacity = 256 << 10

    /// `hasRoom` is called once there is space: when the task asks for the first piece, and again after a piece was
    /// refused.
    package init(hasRoom: @escaping @Sendable () -> Void) {
        self.hasRoom = hasRoom
        state.withLock { $0.isHeld = true }
    }

    // MARK: - The server's side

    /// Returns false if there is no space: the piece must be offered again after `hasRoom`.
    func offer(_ piece: UnsafeRawBufferPointer) -> Bool {
        let (isTaken, taker) = state.withLock { state -> (Bool, CheckedContinuation<[UInt8]?, any Error>?) in
            guard state.end == .open else { return (true, nil) }
            if let taker = state.taker {
                state.taker = nil
                return (true, taker)
            }
            guard state.bytes < Self.capacity else {
                state.isHeld = true
                return (false, nil)
            }
            state.pieces.append(Array(piece))
            state.bytes += piece.count
            return (true, nil)
        }
        taker?.resume(returning: Array(piece))
        return isTaken
    }

    /// The body is complete, or will never be.
    func finish(isComplete: Bool) {
        let taker = state.withLock { state in
            if state.end == .open { state.end = isComplete ? .complete : .interrupted }
            defer { state.taker = nil }
            return state.taker
        }
        if isComplete { taker?.resume(returning: nil) } else { taker?.resume(throwing: Interrupted()) }
    }

    /// The task has ended: the server drops the rest.
    func abandon() {
        let isHeld = state.withLock { state in
            if state.end == .open { state.end = .unwanted }
            state.pieces = []
            defer { state.isHeld = false }
            return state.isHeld
        }
        if isHeld { hasRoom() }
    }

    // MARK: - The task's side

    package struct Iterator: AsyncIteratorProtocol {
        fileprivate let stream: BodyStream
        package mutating func next() async throws -> [UInt8]? { try await stream.take() }
    }

    package func makeAsyncIterator() -> Iterator { Iterator(stream: self) }

    private func take() async throws -> [UInt8]? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (answer, isHeld) = state.withLock { state -> (Result<[UInt8]?, any Error>?, Bool) in
                    if Task.isCancelled { return (.failure(CancellationError()), false) }
                    if !state.pieces.isEmpty {
                        var piece = state.pieces[0]
                        piece.reserveCapacity(state.bytes)
                        for further in state.pieces.dropFirst() { piece += further }
                        state.pieces = []
                        state.bytes = 0
                        defer { state.isHeld = false }
                        return (.success(piece), state.isHeld)
                    }
                    switch state.end {
                    case .open:
                        state.taker = continuation
                        defer { state.isHeld = false }
                        return (nil, state.isHeld)
                    case .complete: return (.success(nil), false)
                    case .interrupted, .unwanted: return (.failure(Interrupted()), false)
                    }
                }
                if let answer { continuation.resume(with: answer) }
                if isHeld { hasRoom() }
            }
        } onCancel: {
            let taker = state.withLock { state in
                defer { state.taker = nil }
                return state.taker
            }
            taker?.resume(throwing: CancellationError())
        }
    }
}
