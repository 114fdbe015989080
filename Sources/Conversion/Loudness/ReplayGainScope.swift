/// For how much sound the tags of an output state the loudness, so that players can level it.
public enum ReplayGainScope: String, Sendable, Hashable, Codable, CaseIterable {
    /// For the output alone.
    case track
    /// Also for all outputs of a batch together.
    case album

    /// One line for the user.
    public var summary: String {
        switch self {
        case .track: "the gain and the peak of the output alone"
        case .album: "also those of all outputs of the batch together"
        }
    }
}
