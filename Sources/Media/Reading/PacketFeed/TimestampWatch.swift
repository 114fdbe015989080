/// Compares a container's clock with the count of decoded frames, and distinguishes gaps from jitter.
///
/// Some muxers round to milliseconds, some stamp packets with their time of arrival, and the clocks of recorders
/// drift. A gap is a jump larger than any this source's clock has shown before.
struct TimestampWatch {
    /// How far the container's clock is ahead of the count of frames, known gaps included.
    private var base: Int64?
    private var timed = 0
    /// How far the last packet that was counted without decoding lay before its place; at most zero.
    private var stepBack: Int64 = 0
    /// The greatest recent deviation, in frames.
    private var jitter: Int64 = 0

    /// The deviation that counts as a gap lies between `finest` and `coarsest`, in frames.
    private let finest: Int64
    private let coarsest: Int64
    /// Whether the limit adapts to the source's own jitter.
    private let learns: Bool
    /// Packets to wait before taking the offset, because decoders may hold back their first frames.
    private let settling: Int

    private static let learningPackets = 8

    /// `nil` for containers whose clock is derived from the count of frames anyway.
    init?(_ clock: ContainerClock?, rate: Int, _ length: LengthPromise) {
        guard let clock else { return nil }
        let rate = Int64(rate)
        switch clock {
        case .rounded: (finest, coarsest, learns, settling) = (max(1, rate / 300), rate / 10, true, 4)
        case .pages: (finest, coarsest, learns, settling) = (0, rate / 20, false, 0)
        case .frameNumbers:
            (finest, coarsest, learns, settling) = (0, 0, false, 0)
            // A file that states its length starts at zero.
            if length.exactFrames != nil { base = 0 }
        }
    }

    enum Comparison {
        /// Nothing is missing beyond the estimated loss, or the clock cannot tell yet.
        case agrees
        /// The clock advanced by this many frames more than the count since the last packet.
        case ahead(Int64)
        /// As `ahead`, but less than the estimated loss; may be negative.
        case behind(Int64)
    }

    /// Classifies a packet that the container puts at `frame`, after `decoded` frames were counted and `lost` more
    /// were estimated lost since the last packet. Packets usually have `usual` frames. A jump is not remembered
    /// until `accept` is called.
    mutating func compare(_ frame: Int64, decoded: Int64, lost: Int64, usual: Int64, isSuspect: Bool) -> Comparison {
        timed += 1
        // Pages missing at the start belonged to this stream, which therefore began at zero.
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
                // Clocks never agree on the length of a second, so a drift is followed rather than accumulated.
                self.base = base + rest / 16
                jitter = max(abs(rest), jitter - jitter / 32)
            }
            return .agrees
        }
        return rest > 0 ? .ahead(step) : .behind(step)
    }

    /// The place of a packet at `frame` in the count, when `counted` frames were counted without decoding, of which
    /// `lost` were estimated lost before the packet. Follows the clock if the two differ by more than jitter.
    ///
    /// A clock that runs backwards, as where recordings were joined, loses no sound and repeats none.
    mutating func place(of frame: Int64, counted: Int64, lost: Int64, usual: Int64, isSuspect: Bool) -> Int64 {
        timed += 1
        let base = base ?? (isSuspect ? 0 : frame - counted)
        self.base = base
        let step = frame - base - counted
        defer { stepBack = min(0, step) }
        guard abs(step) > (isSuspect ? finest : slack(usual)) else {
            if learns { jitter = max(min(abs(step), usual / 4), jitter - jitter / 32) }
            return counted
        }
        guard step < -lost else { return counted + wholePackets(step, of: usual) }
        let place = counted - lost
        // A single wrong time is not a new beginning.
        if stepBack < step / 2 { self.base = frame - place }
        return place
    }

    /// How far a packet at `frame` is from directly following `decoded` frames.
    func distance(_ frame: Int64, decoded: Int64) -> Int64 { base.map { abs(frame - $0 - decoded) } ?? .max }

    /// Adopts the clock as it is now: the packet at `frame` follows `decoded` frames, lost ones included.
    mutating func accept(_ frame: Int64, decoded: Int64) { base = frame - decoded }

    /// Adopts the clock as the next packet shows it.
    mutating func forget() { base = nil }

    /// `frames` rounded to whole packets of `usual` frames, if the clock is too coarse to show the difference.
    func wholePackets(_ frames: Int64, of usual: Int64) -> Int64 {
        guard usual > 0 else { return frames }
        let whole = (abs(frames) + usual / 2) / usual * usual * frames.signum()
        return abs(whole - frames) <= finest ? whole : frames
    }

    /// The allowed deviation. A gap is at least one packet, so half a packet does not make a clock wrong.
    private func slack(_ usual: Int64) -> Int64 {
        guard learns, timed > Self.learningPackets else { return coarsest }
        return min(coarsest, max(finest, 4 * jitter, usual / 2))
    }
}
