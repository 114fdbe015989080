import Glibc

extension Double {
    /// An amplitude factor in decibels with one decimal: `-7.7`, and `0.0` without a sign.
    var decibels: String {
        let tenths = Int((200 * log10(self)).rounded())
        return "\(tenths < 0 ? "-" : "")\(abs(tenths) / 10).\(abs(tenths) % 10)"
    }
}
