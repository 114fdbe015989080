/// The number of a ledger. It forms the high bits of the ids of its jobs and batches.
///
/// Ledgers with different numbers have no id in common, so their contents can be shown together, or moved without
/// new ids.
public struct LedgerNumber: Sendable, Hashable {
    /// Ids count within the bits below this one; the number takes the ten above. So ids stay below 2^53.
    public static let shift = 43
    public static let all = 0...1_023

    public let value: Int
    /// Whether the ledger holds neither jobs nor batches, so that its number can change.
    public let isFree: Bool

    /// The range of ids of a ledger with that number.
    public static func ids(of number: Int) -> ClosedRange<Int64> {
        (Int64(number) << shift) + 1...(Int64(number + 1) << shift) - 1
    }
}
