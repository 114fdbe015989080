import Conversion

/// Finds gaps between packets by the container's clock.
struct GapWatch {
    /// `nil` if the container's clock tells nothing.
    private var watch: TimestampWatch?
    /// Whether the next packet only fills the decoder's window and gives no output, so that its time shows no gap.
    private var skipsNext = false
    private let rate: Int
    /// Whether one wrong number can shift all times after it, and no stated length bounds the shift.
    private let mayShiftTogether: Bool
    /// Whether the packets themselves hold the clock, as numbers that their checksums cover.
    private let isInPackets: Bool

    /// A packet on both clocks.
    struct Position {
        /// On the container's clock; `nil` if it gives none.
        var frame: Int64?
        /// All frames before it since the start of the source, priming included.
        var decoded: Int64
        /// The usual frames of a packet.
        var usual: Int64
        /// Whether pages are missing before it.
        var isSuspect = false
    }

    enum Finding {
        /// What is missing before the packet.
        case loss(Loss?)
        /// The clock jumps here, or only this packet's time is wrong.
        case jump(Jump)
    }

    /// A jump of the container's clock.
    struct Jump {
        fileprivate let step: Int64
        fileprivate let isAhead: Bool
        fileprivate let frame: Int64
        fileprivate let position: Position
        fileprivate let estimate: Loss?

        fileprivate var lost: Int64 { estimate?.frames ?? 0 }
    }

    init(_ traits: PacketTraits, rate: Int, length: LengthPromise) {
        watch = TimestampWatch(traits.clock, rate: rate, length)
        self.rate = rate
        isInPackets = traits.clock == .frameNumbers
        mayShiftTogether = traits.mayShiftTogether && length.frames == nil
    }

    /// Whether the container's clock tells anything.
    var isOn: Bool { watch != nil }

    /// Notes that the next packet gives no output.
    mutating func skipNext(_ isEmpty: Bool) { skipsNext = isEmpty }

    /// Whether the time of the next packet shows gaps. Call it once for a packet.
    mutating func watchesNext() -> Bool {
        defer { skipsNext = false }
        return watch != nil && !skipsNext
    }

    /// Adopts the clock as the next packet shows it.
    mutating func forget() { watch?.forget() }

    // MARK: Decoding

    /// Compares the clocks at a packet. `estimate` is the estimated loss since the last one.
    mutating func compare(_ position: Position, estimate: Loss?) -> Finding {
        guard let frame = position.frame else {
            return .loss(position.isSuspect ? estimate ?? Self.brokenPages(costing: 0) : estimate)
        }
        let comparison = watch?.compare(
            frame,
            decoded: position.decoded,
            lost: estimate?.frames ?? 0,
            usual: position.usual,
            isSuspect: position.isSuspect
        )
        func jump(_ step: Int64, isAhead: Bool) -> Finding {
            .jump(Jump(step: step, isAhead: isAhead, frame: frame, position: position, estimate: estimate))
        }
        switch comparison {
        case .agrees, nil: return .loss(estimate)
        case .ahead(let step): return jump(step, isAhead: true)
        case .behind(let step): return jump(step, isAhead: false)
        }
    }

    /// Whether the packet of `jump` is alone with its time: the next one, at `following`, goes on where it ended.
    func isAlone(_ jump: Jump, before following: Int64) -> Bool {
        guard let watch else { return false }
        let decoded = jump.position.decoded + jump.lost
        return watch.distance(following, decoded: decoded + jump.position.usual)
            < watch.distance(jump.frame, decoded: decoded) / 2
    }

    /// Whether a wrong number explains `jump` as well as a gap does. In fragments, one damaged number shifts all that follows.
    func doubts(_ jump: Jump) -> Bool { jump.isAhead && jump.step > PacketDurations.longest && mayShiftTogether }

    /// Follows the clock, and returns what is missing before the packet. `isProven` if something else shows that there is a
    /// gap.
    mutating func accept(_ jump: Jump, isProven: Bool = false) -> Loss? {
        guard watch != nil else { return jump.estimate }
        return jump.isAhead ? acceptAhead(jump, isProven) : acceptBehind(jump)
    }

    private mutating func acceptAhead(_ jump: Jump, _ isProven: Bool) -> Loss? {
        let decoded = jump.position.decoded
        if doubts(jump), !isProven {
            watch!.accept(jump.frame, decoded: decoded + jump.lost)
            return jump.estimate
        }
        let frames = watch!.wholePackets(jump.step, of: jump.position.usual)
        watch!.accept(jump.frame, decoded: decoded + frames)
        if let estimate = jump.estimate { return estimate.costing(frames) }
        if jump.position.isSuspect { return Self.brokenPages(costing: frames) }
        let missing = MediaTime(frames: frames, rate: rate)
        let detail = "\(missing) of sound are missing according to the container's timestamps"
        var loss = Loss(code: .timelineGap, frames: frames, detail: detail)
        if !isInPackets {
            let promised = "frame \(Figures.grouped(decoded + frames)) by the container's clock"
            let found = "frame \(Figures.grouped(decoded)) by the packets before it"
            loss.contradiction = Contradiction(.clock, promised: promised, found: found)
        }
        return loss
    }

    /// A clock that runs backwards loses no sound. It may show that less was lost than estimated.
    private mutating func acceptBehind(_ jump: Jump) -> Loss? {
        let frames = watch!.wholePackets(max(0, min(jump.step, jump.lost)), of: jump.position.usual)
        watch!.accept(jump.frame, decoded: jump.position.decoded + frames)
        return jump.estimate?.costing(frames)
    }

    /// Pages are missing, and `frames` with them.
    static func brokenPages(costing frames: Int64) -> Loss {
        Loss(code: .corruptStream, frames: frames, detail: "pages are missing here")
    }

    // MARK: Skipping

    /// The first frame of a packet that is counted without decoding, behind `lost` frames.
    mutating func place(of position: Position, lost: Int64) -> Int64 {
        guard watch != nil, let frame = position.frame else { return position.decoded }
        return watch!.place(
            of: frame,
            counted: position.decoded,
            lost: lost,
            usual: position.usual,
            isSuspect: position.isSuspect
        )
    }
}
