/// The beginning or the end of a piece, from or to silence.
public struct Fade: Sendable, Hashable {
    /// How long the fade takes; above 0.
    public var length: MediaTime
    /// `linear` or `equalPower`: in decibels there is no way from silence.
    public var curve: Curve

    /// Checks nothing; `Recipe.validate()` does.
    public init(_ length: MediaTime, curve: Curve = .linear) {
        self.length = length
        self.curve = curve
    }
}
