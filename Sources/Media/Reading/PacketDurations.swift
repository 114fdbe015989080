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

    /// `nil` for PCM, and for codecs whose packet length is not known.
    init?(_ stream: InputStream) {
        let fixed: Int64? =
            switch stream.codecName {
            // The decoder determined it, and SBR may have doubled it.
            case "aac": Int64(stream.frameSize)
            case "mp3": stream.sampleRateHz < 32_000 ? 576 : 1152
            case "mp2": 1152
            case "mp1": 384
            case "amr_nb": 160
            case "amr_wb": 320
            case "ac3": 1536
            case "alac": stream.alacBlockFrames
            case "flac": stream.flacBlockFrames.map(Int64.init)
            default: nil
            }
        if let fixed, (1...Self.longest).contains(fixed) {
            (whole, unit) = (fixed, fixed)
            return
        }
        whole = nil
        switch stream.codecName {
        case "opus": unit = 120
        case "eac3": unit = 256
        // The shortest blocks have 64 frames and overlap by half.
        case "vorbis": unit = 32
        case "flac": unit = 1
        default: return nil
        }
    }

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

extension InputStream {
    /// Frames in every block of an ALAC stream but the last, from the codec's header.
    fileprivate var alacBlockFrames: Int64? {
        let cookie = extradata
        return cookie.count >= 16 ? cookie[12..<16].reduce(0) { $0 << 8 | Int64($1) } : nil
    }
}
