/// Compares a container's clock with the count of decoded frames, and tells a gap from mere jitter.
///
/// Some muxers round to milliseconds, some stamp packets when they happened to arrive, and clocks of recorders drift.
/// What counts is a jump that this source's clock has not shown before.
struct TimestampWatch {
    /// How far the container's clock runs ahead of the frames, gaps that are known included.
    private var base: Int64?
    private var timed = 0
    /// The greatest deviation of late, in frames.
    private var jitter: Int64 = 0

    /// The finest and the coarsest deviation that is a gap, in frames.
    private let finest: Int64
    private let coarsest: Int64
    /// Whether the source itself shows what is usual in it.
    private let learns: Bool
    /// Packets before the offset is taken: decoders may hold back their first frames.
    private let settling: Int

    private static let learningPackets = 8

    /// `nil` for containers whose clock is made from the count of frames anyway.
    init?(_ demuxer: String, _ track: Track) {
        let rate = Int64(track.sampleRateHz)
        switch demuxer {
        case "matroska,webm", "asf", "mpegts", "mpeg", "mov,mp4,m4a,3gp,3g2,mj2":
            (finest, coarsest, learns, settling) = (max(1, rate / 300), rate / 10, true, 4)
        case "ogg":
            (finest, coarsest, learns, settling) = (0, rate / 20, false, 0)
        case "flac", "wv":
            (finest, coarsest, learns, settling) = (0, 0, false, 0)
            // A file that knows its length begins at its beginning.
            if track.length.exactFrames != nil { base = 0 }
        default: return nil
        }
    }

    enum Verdict {
        /// Nothing is missing beyond what was believed lost, or the clock is of no help yet.
        case agrees
        /// Since the last packet the clock went ahead of the count by so many frames.
        case ahead(Int64)
        /// By so many frames, which may be less than nothing, and is less than was believed lost.
        case behind(Int64)
    }

    /// Judges a packet that the container puts at `frame`, when `decoded` frames were counted and `lost` more are
    /// believed lost since the last packet; packets usually have `usual` frames. Nothing is remembered of a jump until
    /// `accept` is called.
    mutating func judge(_ frame: Int64, decoded: Int64, lost: Int64, usual: Int64, isSuspect: Bool) -> Verdict {
        timed += 1
        // Pages that are missing at the start were pages of this stream, which then began at zero.
        if base == nil, isSuspect { base = 0 }
        guard let base, timed > settling else {
            self.base = frame - decoded - lost
            return .agrees
        }
        let step = frame - base - decoded
        let rest = step - lost
        let slack = isSuspect || lost > 0 ? finest : slack(usual)
        if abs(rest) <= slack {
            if learns {
                // No two clocks agree on the length of a second: a drift is followed, not summed up.
                self.base = base + rest / 16
                jitter = max(abs(rest), jitter - jitter / 32)
            }
            return .agrees
        }
        return rest > 0 ? .ahead(step) : .behind(step)
    }

    /// Where a packet at `frame` lies in the count, of which so many frames were `counted` without decoding them: as the
    /// clock says, where the two differ by more than jitter.
    mutating func place(of frame: Int64, counted: Int64, usual: Int64, isSuspect: Bool) -> Int64 {
        timed += 1
        let base = base ?? (isSuspect ? 0 : frame - counted)
        self.base = base
        let step = frame - base - counted
        guard abs(step) > (isSuspect ? finest : slack(usual)) else {
            if learns { jitter = max(min(abs(step), usual / 4), jitter - jitter / 32) }
            return counted
        }
        return counted + wholePackets(step, of: usual)
    }

    /// How far a packet at `frame` is from following upon `decoded` frames.
    func distance(_ frame: Int64, decoded: Int64) -> Int64 { base.map { abs(frame - $0 - decoded) } ?? .max }

    /// Takes the clock as it is now: the packet at `frame` follows upon `decoded` frames, lost ones included.
    mutating func accept(_ frame: Int64, decoded: Int64) { base = frame - decoded }

    /// Takes the clock as it will be at the next packet.
    mutating func forget() { base = nil }

    /// `frames` as whole packets of `usual` frames, where the clock is too coarse to tell the difference.
    func wholePackets(_ frames: Int64, of usual: Int64) -> Int64 {
        guard usual > 0 else { return frames }
        let whole = (abs(frames) + usual / 2) / usual * usual * frames.signum()
        return abs(whole - frames) <= finest ? whole : frames
    }

    /// What is missing is at least a packet: half of one is no reason to doubt a clock.
    private func slack(_ usual: Int64) -> Int64 {
        guard learns, timed > Self.learningPackets else { return coarsest }
        return min(coarsest, max(finest, 4 * jitter, usual / 2))
    }
}
