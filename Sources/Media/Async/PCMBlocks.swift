/// The decoded blocks of one track, each exactly once, in order.
///
/// A block is decoded only when a task waits for it, so a slow consumer holds at most one block, and an unread
/// sequence blocks nothing. If damage, cancellation or an unreadable source cuts the sequence short, `next()`
/// throws, and throws again on later calls: `nil` means that the track is complete.
///
/// The sequence is single-pass: all iterators share the same blocks. Dropping it early frees everything it holds.
public struct PCMBlocks: AsyncSequence, Sendable {
    public let track: Track
    let actor: ReaderActor
    let stop: StopSignal

    public func makeAsyncIterator() -> Iterator { Iterator(actor: actor, stop: stop) }

    /// What was missing in the blocks so far, and where; empty in `strict` mode, which throws instead.
    public var damage: DamageAccount {
        get async { await actor.damage }
    }

    public struct Iterator: AsyncIteratorProtocol {
        let actor: ReaderActor
        let stop: StopSignal

        /// Waits for the next block; `nil` once the track is complete.
        public mutating func next() async throws -> PCMBlock? {
            let actor = actor
            return try await stop.raisedByCancellation { try await actor.next() }
        }
    }
}
