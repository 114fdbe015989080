/// A colour of a palette.
struct PNGColour: Sendable, Hashable {
    /// From 0 to 255.
    let red: Double
    let green: Double
    let blue: Double
    /// From 0 to 1.
    let opacity: Double

    private init(_ red: Double, _ green: Double, _ blue: Double, _ opacity: Double) {
        (self.red, self.green, self.blue, self.opacity) = (red, green, blue, opacity)
    }

    /// From 0xRRGGBB.
    init(_ colour: UInt32, opacity: Double = 1) {
        self.init(Double(colour >> 16 & 0xFF), Double(colour >> 8 & 0xFF), Double(colour & 0xFF), opacity)
    }

    /// On the way to another colour, of which `part` is 1.
    func mixed(with other: PNGColour, _ part: Double) -> PNGColour {
        func mix(_ first: Double, _ second: Double) -> Double { first + (second - first) * part }
        return PNGColour(
            mix(red, other.red),
            mix(green, other.green),
            mix(blue, other.blue),
            mix(opacity, other.opacity)
        )
    }
}
