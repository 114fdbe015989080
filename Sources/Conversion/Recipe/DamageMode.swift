/// How a conversion treats damage in its source.
public enum DamageMode: String, Sendable, Hashable, Codable, CaseIterable {
    /// Fails at the first damage.
    case strict
    /// Replaces the damaged part with silence of the same length and reports it.
    case conceal
    /// Leaves the damaged part out and reports it.
    case skip
    /// Takes all that decodes, whatever the container says of its length, times, marks and digests, and reports what it
    /// contradicts. What does not decode is left out and reported.
    case trustPackets = "trust-packets"

    /// Whether sound after damage comes earlier than in the source.
    public var movesSound: Bool {
        switch self {
        case .strict, .conceal: false
        case .skip, .trustPackets: true
        }
    }
}
