import Glibc

/// Functions of the C library that gain curves and spectra need.
enum Exponent {
    static func power(_ base: Double, _ exponent: Double) -> Double { pow(base, exponent) }

    /// The logarithm to the base 10.
    static func decimal(_ number: Double) -> Double { log10(number) }

    /// The cosine and the sine of `part` of a full turn.
    static func turn(_ part: Double) -> (x: Double, y: Double) { (cos(part * 2 * .pi), sin(part * 2 * .pi)) }

    /// The sine of `part` of a right angle: 0 at 0, 1 at 1.
    static func quarterSine(_ part: Double) -> Double { sin(part * .pi / 2) }
}
