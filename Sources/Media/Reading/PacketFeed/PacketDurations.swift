/// The usual packet length of a codec, and whether a container's timestamps match it.
///
/// MP4 states the length of each packet in ticks. If the audio was copied from a container that rounds, or packets
/// were stamped on arrival, these lengths are only approximate: then the packets themselves are the clock.
struct PacketDurations {
    /// Frames in every packet but the last; `nil` if packet lengths vary.
    let whole: Int64?
    /// The length of every packet but the last is a multiple of this.
    let unit: Int64
    /// Whether all timestamps so far match whole packets.
    private(set) var isSteady = true

    /// The longest packet in MP4, in frames: a larger step is a gap or a wrong number.
    static let longest: Int64 = 1 << 16

    private init(whole: Int64?, unit: Int64) { (self.whole, self.unit) = (whole, unit) }

    /// Every packet but the last has `frames`; `nil` if no packet has so many, or they are not known.
    static func equal(_ frames: Int64?) -> PacketDurations? {
        frames.flatMap { (1...longest).contains($0) ? PacketDurations(whole: $0, unit: $0) : nil }
    }

    /// Packets differ, but every one but the last has a multiple of `unit`.
    static func multiples(of unit: Int64) -> PacketDurations { PacketDurations(whole: nil, unit: unit) }

    /// The frames that the packet must yield; `nil` if only a gap before the next packet explains
    /// the times, or nothing is known.
    ///
    /// By the container, the next packet begins `exact` frames later, or about `near`; by its codec,
    /// the packet holds `own` frames.
    mutating func frames(exact: Int64?, near: Int64, own: Int64?) -> Int64? {
        guard let own = own ?? whole else { return exact.flatMap { $0 <= Self.longest ? $0 : nil } }
        if exact == own { return own }
        // If the times so far were exact, a multiple of whole packets means that packets are missing.
        if isSteady, unit > 1, let exact, exact % unit == 0 { return exact <= Self.longest ? exact : nil }
        isSteady = false
        return abs(near - own) <= own / 2 ? own : nil
    }
}
