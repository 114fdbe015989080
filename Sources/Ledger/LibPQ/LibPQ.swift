import CLibPQ

/// PostgreSQL's client library.
public enum LibPQ {
    /// In the usual notation: `15.18`.
    public static var version: String {
        let number = PQlibVersion()
        return "\(number / 10_000).\(number % 10_000)"
    }
}
