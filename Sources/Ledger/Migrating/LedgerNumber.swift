/// The number of a ledger, which stands in the high bits of the ids of its jobs and batches.
///
/// Ledgers of different numbers have no id in common, so that what they hold can be shown together or moved without new names.
public struct LedgerNumber: Sendable, Hashable {
    /// Ids of one ledger take the bits below this one; the number takes the ten above. So ids stay below 2^53.
    public static let shift = 43
    public static let all = 0...1_023

    public let value: Int
    /// Whether the ledger holds neither jobs nor batches, and may be given another.
    public let isFree: Bool

    /// The ids of a ledger of that number.
    public static func ids(of number: Int) -> ClosedRange<Int64> {
        (Int64(number) << shift) + 1...(Int64(number + 1) << shift) - 1
    }
}
