/// What a conversion does where its source is damaged.
public enum DamageMode: String, Sendable, Hashable, Codable, CaseIterable {
    /// Fails at the first damage.
    case strict
    /// Puts silence of the same length in its place and keeps an account.
    case conceal
    /// Leaves it out and keeps an account.
    case skip
}
