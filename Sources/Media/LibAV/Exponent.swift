import Glibc

/// Functions of the C library that gain curves need.
enum Exponent {
    static func power(_ base: Double, _ exponent: Double) -> Double { pow(base, exponent) }

    /// The sine of `part` of a right angle: 0 at 0, 1 at 1.
    static func quarterSine(_ part: Double) -> Double { sin(part * .pi / 2) }
}
