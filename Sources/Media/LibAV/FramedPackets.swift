import CLibAV
import Conversion
import Glibc

/// Splits a stream of bare codec frames into packets and reports the losses between them.
///
/// It replaces libav's demuxer and parser once they have described the stream.
final class FramedPackets {
    /// The length fields of an MP3's info header; `nil` without one.
    let header: MP3Header?
    private let walk: FrameWalk
    private let stream: InputStream
    private var held: FrameWalk.Step?
    private var loss: Loss?
    /// Frames delivered or lost so far, at the stream's own sample rate.
    private var frames: Int64 = 0
    private var ticks: Int64 = 0
    private var latest: FrameHeader
    private var packetCount: Int64 = 0
    private var byteCount: Int64 = 0
    private var missing: Missing?
    /// The number of bytes of an incomplete last frame, if the stream is complete without it; otherwise `nil`.
    private(set) var partialFrameBytes: Int64?
    private var hasLoss = false

    /// Everything that reading changes.
    struct State {
        fileprivate var walk: FrameWalk.State
        fileprivate var held: FrameWalk.Step?
        fileprivate var loss: Loss?
        fileprivate var frames: Int64
        fileprivate var ticks: Int64
        fileprivate var latest: FrameHeader
        fileprivate var packetCount: Int64
        fileprivate var byteCount: Int64
        fileprivate var missing: Missing?
        fileprivate var partialFrameBytes: Int64?
        fileprivate var hasLoss: Bool
    }

    var state: State {
        get {
            State(
                walk: walk.state,
                held: held,
                loss: loss,
                frames: frames,
                ticks: ticks,
                latest: latest,
                packetCount: packetCount,
                byteCount: byteCount,
                missing: missing,
                partialFrameBytes: partialFrameBytes,
                hasLoss: hasLoss
            )
        }
        set {
            walk.state = newValue.walk
            (held, loss, frames, ticks, latest) =
                (newValue.held, newValue.loss, newValue.frames, newValue.ticks, newValue.latest)
            (packetCount, byteCount, missing) = (newValue.packetCount, newValue.byteCount, newValue.missing)
            (partialFrameBytes, hasLoss) = (newValue.partialFrameBytes, newValue.hasLoss)
        }
    }

    /// Continues with the frame at `place`. Everything counted stays as it is.
    func move(to place: Int64) {
        (held, loss) = (nil, nil)
        walk.state.place = place
    }

    /// The frames still missing by the header's count. `frames` are distributed over damage
    /// estimated at `estimate` frames.
    fileprivate struct Missing {
        var frames: Int64
        var estimate: Int64
    }

    /// `nil` if libav must split the stream: for pipes, which cannot seek.
    init?(_ source: ByteSource, _ stream: InputStream, _ syntax: FrameSyntax) {
        guard let walk = FrameWalk(source, syntax) else { return nil }
        let begin = walk.next()
        guard case .frame(let place, let first) = begin else { return nil }
        self.walk = walk
        self.stream = stream
        held = begin
        latest = first
        header =
            syntax.hasInfoFrames
            ? MP3Header(source, at: place, bytes: first.bytes, framesPerFrame: first.frames) : nil
    }

    /// Fills `packet`; returns `false` at the end. After each call, `takeLoss` returns what
    /// was missing before the packet.
    func read(into packet: inout Packet) throws -> Bool {
        while true {
            switch held ?? walk.next() {
            case .frame(let place, let first):
                held = nil
                if isInfo(place, first) { continue }
                let bytes = takeDependents(of: first)
                try fill(&packet, place, bytes, first)
                return true
            case .junk(let place, let bytes, let beginsFrame):
                held = nil
                note(bytes, at: place, beginsFrame)
            case .cutFrame(let place, let header):
                held = nil
                if walk.isAtEnd, holdsAllThatWasPromised {
                    partialFrameBytes = walk.end - place
                    continue
                }
                let lost = onTrackClock(Int64(header.frames), header)
                add(Loss(code: .truncated, frames: lost, detail: "the source ends in the middle of a frame"))
            case .ended:
                held = .ended
                return false
            }
        }
    }

    func takeLoss() -> Loss? {
        defer { loss = nil }
        return loss
    }

    // MARK: Packets

    /// Adds the E-AC-3 frames for the same time that follow the first one. Returns the bytes of all of them.
    private func takeDependents(of first: FrameHeader) -> Int {
        var bytes = first.bytes
        guard walk.syntax.hasDependentFrames else { return bytes }
        while true {
            held = walk.next()
            guard case .frame(_, let other) = held, other.frames == 0 else { return bytes }
            bytes += other.bytes
        }
    }

    private func fill(_ packet: inout Packet, _ place: Int64, _ bytes: Int, _ header: FrameHeader) throws {
        packet.clear()
        try check(av_new_packet(packet.pointer, Int32(bytes)), "av_new_packet")
        let got = walk.copy(place, into: .init(start: packet.pointer.pointee.data, count: bytes))
        if got < bytes { throw LibAVError("read", -EIO) }
        let base = stream.pointer.pointee.time_base
        let rate = AVRational(num: 1, den: Int32(header.sampleRateHz))
        let duration = av_rescale_q(Int64(header.frames), rate, base)
        packet.pointer.pointee.stream_index = stream.pointer.pointee.index
        packet.pointer.pointee.pts = ticks
        packet.pointer.pointee.dts = ticks
        packet.pointer.pointee.duration = duration
        packet.pointer.pointee.pos = place
        packet.pointer.pointee.flags = AV_PKT_FLAG_KEY
        let priming = packetCount == 0 ? max(0, (self.header?.priming ?? 0) - Int(frames)) : 0
        let padding = padding(at: place + Int64(bytes), header) ?? 0
        if priming > 0 || padding > 0 { try packet.setSkip(start: priming, end: padding) }
        ticks += duration
        frames += Int64(header.frames)
        packetCount += 1
        byteCount += Int64(bytes)
        latest = header
    }

    /// The number of padding frames in the MPEG frame that ends at `place`.
    private func padding(at place: Int64, _ header: FrameHeader) -> Int? {
        guard let info = self.header, let soundEnd = info.soundEnd else { return nil }
        let after = frames + Int64(header.frames)
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
        if missing == nil { missing = countMissing(behind: lost) }
        if let known = missing, known.estimate > 0 {
            // Whole packets only; the shares add up to exactly the number missing.
            let one = framesPerPacket
            let share =
                lost >= known.estimate
                ? known.frames : ((known.frames / one).scaledSaturated(by: Int(lost), over: Int(known.estimate))) * one
            missing = Missing(frames: known.frames - share, estimate: known.estimate - lost)
            lost = share
        }
        guard lost > 0 else { return }
        // Less than a frame at the end is a truncated frame.
        let isCut = walk.isAtEnd && packetCount > 0 && bytes < byteCount / packetCount
        if isCut, holdsAllThatWasPromised { return partialFrameBytes = bytes }
        frames += lost
        let rate = AVRational(num: 1, den: Int32(latest.sampleRateHz))
        ticks += av_rescale_q(lost, rate, stream.pointer.pointee.time_base)
        let detail =
            isCut
            ? "the source ends in the middle of a frame"
            : "\(Plural.count(bytes, "byte")) at offset \(place) cannot be read as \(stream.codecName)"
        add(Loss(code: isCut ? .truncated : .corruptStream, frames: onTrackClock(lost, latest), detail: detail))
    }

    private func add(_ other: Loss) {
        loss = loss?.followed(by: other) ?? other
        hasLoss = true
    }

    /// Whether all the sound that the header promises has been delivered. Old encoders and recorders stop in the
    /// middle of a frame, and players drop that frame.
    private var holdsAllThatWasPromised: Bool {
        guard let header, !header.isJoined else { return true }
        // Without LAME's fields, the count may include the info frame itself.
        return frames >= header.soundEnd ?? header.frames - framesPerPacket
    }

    /// Whether the stream is undamaged and one MPEG frame shorter than its header says: alphas of LAME 3.94 count
    /// the info frame itself.
    var headerCountsItself: Bool {
        guard let header, header.hasAllBytes, !hasLoss, partialFrameBytes == nil else { return false }
        return header.frames - frames == framesPerPacket
    }

    /// Estimates the number of frames lost with `bytes` bytes of damage.
    private func estimate(_ bytes: Int64, at place: Int64, _ beginsFrame: Bool) -> Int64 {
        let one = max(1, packetCount > 0 ? byteCount / packetCount : bytes)
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

    /// Scans the rest of the source once, to calculate from the header's count how many frames the damage cost.
    private func countMissing(behind first: Int64) -> Missing? {
        guard let total = header?.frames else { return nil }
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
                let lost = total - frames - present
                // A count that is too small does not help. A count that is much too large may mean that the end is
                // missing too, unless all the rest is intact and there is only one damaged place.
                guard lost >= 0, pieces == 1 || lost <= estimate + pieces * framesPerPacket else {
                    return Missing(frames: 0, estimate: 0)
                }
                return Missing(frames: lost, estimate: estimate)
            }
        }
    }

    private var framesPerPacket: Int64 { Int64(latest.frames) }

    private func onTrackClock(_ frames: Int64, _ header: FrameHeader) -> Int64 {
        let rate = stream.sampleRateHz
        return header.sampleRateHz == rate ? frames : frames.scaledSaturated(by: rate, over: header.sampleRateHz)
    }
}
