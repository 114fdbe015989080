/// The decoded blocks of one track, each exactly once, in order.
///
/// Nothing is decoded before a task waits for it, so a slow reader of the sequence holds one block and no more, and
/// a sequence that is never read blocks nothing. A sequence that was cut short by damage, cancellation or an unreadable
/// source ends by throwing, and throws again when asked again: `nil` means that the track is complete.
///
/// It is single-pass: all iterators take from the same blocks. Dropping it early frees all that it held.
public struct PCMBlocks: AsyncSequence, Sendable {
    public let track: Track
    let actor: ReaderActor
    let stop: StopSignal

    public func makeAsyncIterator() -> Iterator { Iterator(actor: actor, stop: stop) }

    /// What was missing in the blocks so far, and where; empty in the mode `strict`, which throws instead.
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
