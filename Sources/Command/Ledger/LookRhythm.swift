import Ledger
import LedgerClient

/// When a command that follows the ledger looks at it again: when something has changed, where the ledger tells of
/// changes, and after a moment where it does not (`LookPause`).
final class LookRhythm: Sendable {
    private let change = ChangeSignal()
    private let listener: (any ChangeListening)?
    /// With events: how often to look nevertheless.
    private static let longest: Duration = .seconds(5)
    /// How often a screen is drawn in between, for its clock.
    private static let tick: Duration = .milliseconds(500)

    /// `batch`: the only one whose changes count; `nil`: all.
    init(_ ledger: any CommandLedger, batch: Int64?) {
        let wishes = batch.map { ChangeWishes(batches: [$0]) } ?? .all
        listener = ledger.listen(to: wishes) { [change] in change.set() }
    }

    /// Must be called at the end, before the process ends.
    func stop() { listener?.stop() }

    /// Waits until the next look is due. `look`: how long the last one took. Calls `onTick` twice a second meanwhile.
    func wait(after look: Duration, onTick: (() throws -> Void)? = nil) async throws {
        // The least time between two looks, or a busy ledger would be read without a pause. The signal keeps a change
        // that happens meanwhile.
        let pause = LookPause.length(after: look)
        try await Task.sleep(for: pause)
        guard listener?.isReceiving == true else { return }
        var left = Self.longest - pause
        while left > .zero {
            let step = onTick == nil ? left : min(left, Self.tick)
            if try await change.wait(atMost: step) { return }
            left -= step
            try onTick?()
        }
    }
}
