import Conversion

/// Splits a stream of bare codec frames into packets and reports the losses between them.
///
/// It replaces libav's demuxer and parser once they have described the stream.
final class FramedPackets {
    /// The length fields of an MP3's info header; `nil` without one.
    let header: MP3Header?
    private let walk: FrameWalk
    private let stream: InputStream
    /// Everything that reading changes, but the place of the walk.
    private var now: Counts

    fileprivate struct Counts {
        var held: FrameWalk.Step?
        var loss: Loss?
        /// Frames delivered or lost so far, at the stream's own sample rate.
        var frames: Int64 = 0
        var ticks: Int64 = 0
        var latest: FrameHeader
        var packetCount: Int64 = 0
        var byteCount: Int64 = 0
        var missing: Missing?
        var partialFrameBytes: Int64?
        var hasLoss = false
    }

    /// The number of bytes of an incomplete last frame, if the stream is complete without it; otherwise `nil`.
    var partialFrameBytes: Int64? { now.partialFrameBytes }

    /// Everything that reading changes.
    struct State {
        fileprivate let walk: FrameWalk.State
        fileprivate let now: Counts
    }

    var state: State {
        get { State(walk: walk.state, now: now) }
        set { (walk.state, now) = (newValue.walk, newValue.now) }
    }

    /// Continues with the frame at `place`. Everything counted stays as it is.
    func move(to place: Int64) {
        (now.held, now.loss) = (nil, nil)
        walk.state.place = place
    }

    /// The frames still missing by the header's count. `frames` are distributed over damage
    /// estimated at `estimate` frames.
    fileprivate struct Missing {
        var frames: Int64
        var estimate: Int64
    }

    /// `nil` if libav must split the stream, because no frame is found.
    init?(_ source: ByteSource, _ stream: InputStream, _ syntax: FrameSyntax) {
        guard let walk = FrameWalk(source, syntax) else { return nil }
        let begin = walk.next()
        guard case .frame(let place, let first) = begin else { return nil }
        self.walk = walk
        self.stream = stream
        now = Counts(held: begin, latest: first)
        header =
            syntax.hasInfoFrames
            ? MP3Header(source, at: place, bytes: first.bytes, framesPerFrame: first.frames) : nil
        source.takeOver()
    }

    /// Fills `packet`; returns `false` at the end. After each call, `takeLoss` returns what
    /// was missing before the packet.
    func read(into packet: inout Packet) throws -> Bool {
        walk.forgetPassed()
        while true {
            switch now.held ?? walk.next() {
            case .frame(let place, let first):
                now.held = nil
                if isInfo(place, first) { continue }
                let bytes = takeDependents(of: first)
                try fill(&packet, place, bytes, first)
                return true
            case .junk(let place, let bytes, let beginsFrame):
                now.held = nil
                note(bytes, at: place, beginsFrame)
            case .cutFrame(let place, let header):
                now.held = nil
                if walk.isAtEnd, holdsAllThatWasPromised {
                    now.partialFrameBytes = walk.end - place
                    continue
                }
                let lost = onTrackClock(Int64(header.frames), header)
                add(Loss(code: .truncated, frames: lost, detail: "the source ends in the middle of a frame"))
            case .ended:
                now.held = .ended
                return false
            }
        }
    }

    func takeLoss() -> Loss? {
        defer { now.loss = nil }
        return now.loss
    }

    // MARK: Packets

    /// Adds the E-AC-3 frames for the same time that follow the first one. Returns the bytes of all of them.
    private func takeDependents(of first: FrameHeader) -> Int {
        var bytes = first.bytes
        guard walk.syntax.hasDependentFrames else { return bytes }
        while true {
            now.held = walk.next()
            guard case .frame(_, let other) = now.held, other.frames == 0 else { return bytes }
            bytes += other.bytes
        }
    }

    private func fill(_ packet: inout Packet, _ place: Int64, _ bytes: Int, _ header: FrameHeader) throws {
        try packet.allocate(bytes)
        let got = packet.withMutableBytes { walk.copy(place, into: $0) }
        if got < bytes { throw LibAVError.unreadable("read") }
        let duration = stream.ticks(near: Int64(header.frames), rate: header.sampleRateHz)
        packet.setOrigin(stream: stream.index, place: place)
        packet.setTime(now.ticks)
        packet.duration = duration
        let priming = now.packetCount == 0 ? max(0, (self.header?.priming ?? 0) - Int(now.frames)) : 0
        let padding = padding(at: place + Int64(bytes), header) ?? 0
        if priming > 0 || padding > 0 { try packet.setSkip(start: priming, end: padding) }
        now.ticks += duration
        now.frames += Int64(header.frames)
        now.packetCount += 1
        now.byteCount += Int64(bytes)
        now.latest = header
    }

    /// The number of padding frames in the MPEG frame that ends at `place`.
    private func padding(at place: Int64, _ header: FrameHeader) -> Int? {
        guard let info = self.header, let soundEnd = info.soundEnd else { return nil }
        let after = now.frames + Int64(header.frames)
        guard after > soundEnd, after <= info.frames else { return nil }
        // A tool that appended frames left the padding field unchanged, so the position of the
        // padding is unknown: keep it all.
        let ahead = FrameWalk(ahead: walk)
        for _ in 0..<((info.frames - after) / Int64(header.frames)) { _ = ahead.next() }
        if case .frame = ahead.next() { return nil }
        return Int(min(after - soundEnd, Int64(header.frames)))
    }

    /// Whether a frame is an encoder's info frame and holds no sound. Concatenated files have them in the middle.
    private func isInfo(_ place: Int64, _ header: FrameHeader) -> Bool {
        guard walk.syntax.hasInfoFrames, header.bytes >= 40 else { return false }
        return withUnsafeTemporaryAllocation(byteCount: 40, alignment: 1) { head in
            walk.copy(place, into: head) == 40 && MP3Header.isInfo(UnsafeRawBufferPointer(head))
        }
    }

    // MARK: Losses

    private func note(_ bytes: Int64, at place: Int64, _ beginsFrame: Bool) {
        var lost = estimate(bytes, at: place, beginsFrame)
        if lost == 0 { return }
        if now.missing == nil { now.missing = countMissing(behind: lost) }
        if let known = now.missing, known.estimate > 0 {
            // Whole packets only; the shares add up to exactly the number missing.
            let one = framesPerPacket
            let share =
                lost >= known.estimate
                ? known.frames : ((known.frames / one).scaledSaturated(by: Int(lost), over: Int(known.estimate))) * one
            now.missing = Missing(frames: known.frames - share, estimate: known.estimate - lost)
            lost = share
        }
        guard lost > 0 else { return }
        // Less than a frame at the end is a truncated frame.
        let isCut = walk.isAtEnd && now.packetCount > 0 && bytes < now.byteCount / now.packetCount
        if isCut, holdsAllThatWasPromised { return now.partialFrameBytes = bytes }
        now.frames += lost
        now.ticks += stream.ticks(near: lost, rate: now.latest.sampleRateHz)
        let detail =
            isCut
            ? "the source ends in the middle of a frame"
            : "\(Plural.count(bytes, "byte")) at offset \(place) cannot be read as \(stream.codecName)"
        add(Loss(code: isCut ? .truncated : .corruptStream, frames: onTrackClock(lost, now.latest), detail: detail))
    }

    private func add(_ other: Loss) {
        now.loss = now.loss?.followed(by: other) ?? other
        now.hasLoss = true
    }

    /// Whether all the sound that the header promises has been delivered. Old encoders and recorders stop in the
    /// middle of a frame, and players drop that frame.
    private var holdsAllThatWasPromised: Bool {
        guard let header, !header.isJoined else { return true }
        // Without LAME's fields, the count may include the info frame itself.
        return now.frames >= header.soundEnd ?? header.frames - framesPerPacket
    }

    /// Whether the stream is undamaged and one MPEG frame shorter than its header says: alphas of LAME 3.94 count
    /// the info frame itself.
    var headerCountsItself: Bool {
        guard let header, let end = walk.sourceBytes, header.hasAllBytes(ofSourceOf: end), !now.hasLoss,
            now.partialFrameBytes == nil
        else { return false }
        return header.frames - now.frames == framesPerPacket
    }

    /// Estimates the number of frames lost with `bytes` bytes of damage.
    private func estimate(_ bytes: Int64, at place: Int64, _ beginsFrame: Bool) -> Int64 {
        let one = max(1, now.packetCount > 0 ? now.byteCount / now.packetCount : bytes)
        let count = (bytes + one / 2) / one
        // Editors leave a few zeros between frames.
        if count == 0, !beginsFrame, isSilent(place, Int(bytes)) { return 0 }
        return max(1, count) * framesPerPacket
    }

    private func isSilent(_ place: Int64, _ bytes: Int) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: bytes, alignment: 1) { buffer in
            walk.copy(place, into: buffer) == bytes && buffer.allSatisfy { $0 == 0 }
        }
    }

    /// Scans the rest of the source once, to calculate from the header's count how many frames the damage cost. A pipe
    /// cannot be scanned.
    private func countMissing(behind first: Int64) -> Missing? {
        guard let total = header?.frames, walk.canReturn else { return nil }
        let ahead = FrameWalk(ahead: walk)
        var (present, estimate, pieces) = (Int64(0), first, Int64(1))
        while true {
            switch ahead.next() {
            case .frame(let place, let header): if !isInfo(place, header) { present += Int64(header.frames) }
            case .junk(let place, let bytes, let begins):
                estimate += self.estimate(bytes, at: place, begins)
                pieces += 1
            case .cutFrame: return Missing(frames: 0, estimate: 0)
            case .ended:
                let lost = total - now.frames - present
                // A count that is too small does not help. A count that is much too large may mean that the end is
                // missing too, unless all the rest is intact and there is only one damaged place.
                guard lost >= 0, pieces == 1 || lost <= estimate + pieces * framesPerPacket else {
                    return Missing(frames: 0, estimate: 0)
                }
                return Missing(frames: lost, estimate: estimate)
            }
        }
    }

    private var framesPerPacket: Int64 { Int64(now.latest.frames) }

    private func onTrackClock(_ frames: Int64, _ header: FrameHeader) -> Int64 {
        let rate = stream.sampleRateHz
        return header.sampleRateHz == rate ? frames : frames.scaledSaturated(by: rate, over: header.sampleRateHz)
    }
}
