import CLibPQ

/// The library through which the ledger speaks to PostgreSQL.
public enum LibPQ {
    /// As people write it: `15.18`.
    public static var version: String {
        let number = PQlibVersion()
        return "\(number / 10_000).\(number % 10_000)"
    }
}
