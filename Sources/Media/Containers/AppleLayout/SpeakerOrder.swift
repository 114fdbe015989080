/// The speakers of a stream's channels, in the order in which a container holds the channels.
struct SpeakerOrder: Hashable {
    /// The WAVE mask of the speakers; zero if not all of them are known.
    let mask: UInt64
    let channelCount: Int
    /// For each channel in the order of the mask, its number in the container; `nil` if both orders are the same.
    let channels: [Int]?

    /// The speakers as bits of the mask; `nil` for a channel whose speaker is unknown.
    init(_ speakers: [Int?]) {
        channelCount = speakers.count
        let known = speakers.compactMap { $0 }
        guard known.count == speakers.count, Set(known).count == known.count else {
            (mask, channels) = (0, nil)
            return
        }
        mask = known.reduce(0) { $0 | 1 << UInt64($1) }
        let order = known.indices.sorted { known[$0] < known[$1] }
        channels = order == Array(known.indices) ? nil : order
    }
}
