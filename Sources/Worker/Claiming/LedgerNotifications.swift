import Ledger
import System

/// What the worker knows of the ledger's notifications.
struct LedgerNotifications: Sendable {
    /// How often it looks for work without one.
    let pace = SignalPace()
    /// Given when one comes, and at intervals.
    let signal = WakeSignal()
}
