/// How a level changes from one value to another while the time `t` goes from 0 to 1.
public enum Curve: String, Sendable, Hashable, Codable, CaseIterable {
    /// The factor of the samples grows evenly: `a + (b - a) * t`.
    case linear
    /// The decibels grow evenly, which sounds even. Neither end can be silence.
    case decibel
    /// The power grows as in a turn of a quarter circle: `sqrt(a² * cos²(t * π/2) + b² * sin²(t * π/2))`.
    ///
    /// In a cross-fade of different sounds the sum stays as loud as each of them.
    case equalPower
}
