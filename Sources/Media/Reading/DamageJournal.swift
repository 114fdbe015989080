import Conversion

/// What an output knows about damage: recorded in its account, found and not yet counted, or only suspected.
struct DamageJournal {
    /// The damage that was recorded.
    private(set) var account = DamageAccount()
    /// The estimated loss since the last good packet. The container's clock may correct it when the next packet comes.
    private(set) var pending: Loss?
    /// The first place that the container marks as damaged; cleared once a loss is recorded.
    private var suspicion: Int64?
    /// The frames that the packet in the decoder should give, and where it begins.
    private var expected: (frames: Int64, start: Int64)?
    private var gaveTooMuch = false
    /// What the container states wrongly, and how often, where its packets were trusted: one of each rule.
    private(set) var ignored: [(contradiction: Contradiction, count: Int64)] = []
    /// Whether data could not be decoded, or is missing between packets.
    private(set) var hasLostData = false
    /// Frames of silence for what only the container says is missing.
    private(set) var claimedFrames: Int64 = 0
    /// The first loss of this kind, and its place.
    private(set) var firstClaim: (loss: Loss, place: Int64)?
    /// Whether the account is complete: all damage of the source was recorded, and is met again from now on.
    private(set) var isClosed = false

    /// Frames by which a packet may exceed its length unnoticed: Opus is exact in steps of 2.5 ms.
    private static let opusStep: Int64 = 120
    /// Frames by which an Opus packet may fall short unnoticed.
    private static let opusSlack: Int64 = 20

    // MARK: What a packet gives

    /// Notes that the packet that begins at `start` should give `frames`; `nil` if its container does not tell.
    mutating func expect(_ frames: Int64?, at start: Int64) { expected = frames.map { ($0, start) } }

    /// Forgets what the packet should give, because it failed in another way.
    mutating func expectNothing() { expected = nil }

    /// The frames at the end of a block that are more than its packet should give. `decoded` is where the block begins,
    /// and `padding` its frames that are dropped anyway.
    mutating func excess(ofBlock frames: Int, padding: Int, at decoded: Int64) -> Int {
        guard let expected else { return 0 }
        let excess = decoded - expected.start + Int64(frames - padding) - expected.frames
        guard excess >= Self.opusStep else { return 0 }
        gaveTooMuch = true
        return Int(min(excess, Int64(frames)))
    }

    /// The loss if the last packet did not give the frames that its container states; `nil` if it did. `decoded` is
    /// where the next packet begins. `holdsBack` says that the decoder may give frames late, as Opus does when it
    /// changes its mode.
    mutating func settlePacket(at decoded: Int64, holdsBack: Bool) -> Loss? {
        guard let (stated, start) = expected else { return nil }
        expected = nil
        let given = decoded - start
        let short = stated - given
        let missing = holdsBack ? (short + Self.opusSlack) / Self.opusStep * Self.opusStep : short
        guard missing > 0 || gaveTooMuch else { return nil }
        let detail =
            gaveTooMuch
            ? "a packet gave more than \(Plural.count(stated, "frame"))"
            : "a packet gave \(given) of \(Plural.count(stated, "frame"))"
        let contradiction = Contradiction(
            .packetFrames,
            promised: Figures.count(stated, "frame") + " in this packet",
            found: gaveTooMuch ? "more" : Figures.count(given, "frame")
        )
        gaveTooMuch = false
        return Loss(
            code: .corruptStream,
            frames: max(0, missing),
            detail: detail,
            contradiction: contradiction
        )
    }

    // MARK: What is not yet certain

    /// Adds a loss to the estimate.
    mutating func bear(_ loss: Loss?) { pending = pending?.followed(by: loss) ?? loss }

    /// Ends the estimate, because it was recorded or did not come true. Returns it.
    @discardableResult
    mutating func takePending() -> Loss? {
        defer { pending = nil }
        return pending
    }

    /// Notes that the container marks the packet at `place` as damaged. Nothing of it need be missing.
    mutating func suspect(at place: Int64) { suspicion = suspicion ?? place }

    // MARK: What is certain

    /// Records a loss of `frames`.
    mutating func record(_ code: FailureCode, at place: Int64, frames: Int64) {
        if !isClosed { account.note(code, at: place, frames: frames) }
        suspicion = nil
    }

    /// Notes whether a loss is one of data.
    mutating func note(_ loss: Loss) { if !loss.isByContainer { noteLostData() } }

    /// Notes that data is damaged or missing.
    mutating func noteLostData() { hasLostData = true }

    /// Counts silence for what only the container says is missing.
    mutating func claim(_ frames: Int64, _ loss: Loss, at place: Int64) {
        guard !isClosed else { return }
        claimedFrames = claimedFrames.addingSaturated(frames)
        firstClaim = firstClaim ?? (loss, place)
    }

    /// Records that the packets were trusted and not the container.
    mutating func ignore(_ contradiction: Contradiction) {
        guard !isClosed else { return }
        if let place = ignored.firstIndex(where: { $0.contradiction.rule == contradiction.rule }) {
            ignored[place].count += 1
        } else {
            ignored.append((contradiction, 1))
        }
    }

    /// What `ignored` says to the user.
    var remarks: [Remark] {
        ignored.map { contradiction, count in
            let promised = contradiction.promised.map { ", which promises \($0)" } ?? ""
            let times = count > 1 ? " (the first of \(Figures.grouped(count)))" : ""
            let found = "; found: \(contradiction.found)\(times)"
            let detail = "the packets were trusted and not the container\(promised)\(found)"
            return Remark(.containerIgnored, detail, count: count)
        }
    }

    /// Records a suspicion that no loss has explained.
    mutating func recordSuspicion() {
        if let suspicion, account.isEmpty, !isClosed { account.note(.corruptStream, at: suspicion, frames: 0) }
    }

    /// Closes the account, because all of the source was read.
    mutating func close() { isClosed = true }

    /// Forgets what is not certain, because the source is read again from its start.
    mutating func startOver() { (pending, expected, suspicion) = (nil, nil, nil) }

    /// What is not certain at one place of the source.
    struct State {
        fileprivate var pending: Loss?
        fileprivate var expected: (frames: Int64, start: Int64)?
        fileprivate var gaveTooMuch = false
    }

    var state: State {
        get { State(pending: pending, expected: expected, gaveTooMuch: gaveTooMuch) }
        set { (pending, expected, gaveTooMuch) = (newValue.pending, newValue.expected, newValue.gaveTooMuch) }
    }
}
