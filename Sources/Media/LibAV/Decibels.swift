import Glibc

extension Double {
    /// A factor of amplitude in decibels with one digit behind the point: `-7.7`, and `0.0` without a sign.
    var decibels: String {
        let tenths = Int((200 * log10(self)).rounded())
        return "\(tenths < 0 ? "-" : "")\(abs(tenths) / 10).\(abs(tenths) % 10)"
    }
}
