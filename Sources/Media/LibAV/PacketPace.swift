/// How many frames the packets of a codec hold as a rule, and whether a container's times keep to it.
///
/// MP4 states the length of each packet in ticks. Where sound was copied out of a container that rounds, or packets were
/// stamped when they happened to arrive, these are about right and never exact: then the packets are the clock.
struct PacketPace {
    /// Frames in each packet, the last one aside; `nil` where packets differ.
    let whole: Int64?
    /// What the frames of every packet but the last are a multiple of.
    let unit: Int64
    /// Whether all times so far are those of whole packets.
    private(set) var isSteady = true

    /// No packet in MP4 is longer: a greater step is a gap, or a wrong number.
    static let longest: Int64 = 1 << 16

    /// `nil` for PCM, and for codecs of which it is not known.
    init?(_ stream: InputStream) {
        let fixed: Int64? =
            switch stream.codecName {
            // The decoder found out, which SBR may double.
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
        // The shortest blocks have 64 frames, of which two overlap by half.
        case "vorbis": unit = 32
        case "flac": unit = 1
        default: return nil
        }
    }

    /// Frames that the packet must give: by its container, of which the next packet begins `exact` frames behind it, or
    /// about `near`, and by its codec, which says that it holds `own`. `nil` where the two are so far apart that only a
    /// gap can lie between the packets, or nothing is known.
    mutating func frames(exact: Int64?, near: Int64, own: Int64?) -> Int64? {
        guard let own = own ?? whole else { return exact.flatMap { $0 <= Self.longest ? $0 : nil } }
        if exact == own { return own }
        // Only whole packets are missing of a table that counts them.
        if isSteady, unit > 1, let exact, exact % unit == 0 { return exact <= Self.longest ? exact : nil }
        isSteady = false
        return abs(near - own) <= own / 2 ? own : nil
    }
}

extension InputStream {
    /// Frames in the blocks of an ALAC stream, the last one aside, by the codec's header.
    fileprivate var alacBlockFrames: Int64? {
        let cookie = extradata
        return cookie.count >= 16 ? cookie[12..<16].reduce(0) { $0 << 8 | Int64($1) } : nil
    }
}
