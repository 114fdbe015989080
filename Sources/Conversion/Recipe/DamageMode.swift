/// How a conversion treats damage in its source.
public enum DamageMode: String, Sendable, Hashable, Codable, CaseIterable {
    /// Fails at the first damage.
    case strict
    /// Replaces the damaged part with silence of the same length and reports it.
    case conceal
    /// Leaves the damaged part out and reports it.
    case skip
}
