import Conversion

/// The length that a container states for a track, and how reliable it is.
public enum LengthPromise: Sendable, Hashable {
    /// Exactly this number of frames.
    case exact(Int64)
    /// About this number of frames. A shortfall within the tolerance is rounding, not damage.
    case about(Int64, tolerance: Int64)
    /// The container states no reliable length.
    case none

    /// The promised frames, exact or not.
    public var frames: Int64? {
        switch self {
        case .exact(let frames), .about(let frames, _): frames
        case .none: nil
        }
    }

    /// The promised frames if they are exact, else `nil`.
    public var exactFrames: Int64? { if case .exact(let frames) = self { frames } else { nil } }

    /// Frames missing from a track that delivered only `delivered`, beyond what rounding explains.
    func shortfall(_ delivered: Int64) -> Int64 {
        switch self {
        case .exact(let frames): max(0, frames - delivered)
        case .about(let frames, let tolerance): frames - delivered > tolerance ? frames - delivered : 0
        case .none: 0
        }
    }
}

extension LengthPromise {
    /// The length that the container of `demuxer` states for `stream`.
    init(of stream: InputStream, in demuxer: Demuxer, facts: ContainerFacts?) {
        let rate = stream.sampleRateHz
        guard rate > 0, facts?.isOpenEnded != true else {
            self = .none
            return
        }
        if let facts, let sound = facts.soundFrames {
            // A length that no track has does not count as a promise, and the arithmetic below is not made for it.
            guard (0...Plausible.frames).contains(sound) else {
                self = .none
                return
            }
            let tolerance = Plausible.boundedFrames(facts.tolerance)
            self = tolerance == 0 ? .exact(sound) : .about(sound, tolerance: tolerance)
            return
        }
        if demuxer.lengthIsGuessed {
            self = .none
            return
        }
        let exact = stream.duration.flatMap { stream.exactFrames($0, rate: rate) } ?? 0
        let near = stream.duration.map { stream.nearestFrames($0, rate: rate) } ?? 0
        self = demuxer.rules.length(StatedLength(exact: exact, near: near), of: stream, in: demuxer)
    }

    // MARK: Rules that several containers share

    /// The length of PCM. Compressed sound in the same container has only a rounded length.
    static func ofPCM(_ stated: StatedLength, _ stream: InputStream) -> LengthPromise {
        // A header may have been written before the length was known.
        let isMarker = SoundCount.isMarker(Int64(clamping: Int128(stated.exact) * Int128(stream.pcmBytesPerFrame)))
        return stream.isPCM && !isMarker ? .counted(stated) : .none
    }

    /// The length according to a header that counts frames.
    static func counted(_ stated: StatedLength) -> LengthPromise { stated.exact > 0 ? .exact(stated.exact) : .none }

    /// The length of a file that states only the length of its longest track, on a clock that shows `start` where the
    /// sound begins.
    static func ofLongestTrack(in demuxer: Demuxer, _ stream: InputStream, from start: Int64 = 0) -> LengthPromise {
        let length = demuxer.hasOneStream ? demuxer.durationMicroseconds ?? 0 : 0
        let frames = MediaTime(value: length, timescale: 1_000_000).frames(atRate: stream.sampleRateHz)?.frames ?? 0
        // That length includes priming and padding, which last long at low rates.
        return .about(frames - start, tolerance: Int64(stream.sampleRateHz / 5) + 4096, unlessZero: true)
    }

    static func about(_ frames: Int64, tolerance: Int64, unlessZero: Bool) -> LengthPromise {
        (1..<Plausible.frames).contains(frames) ? .about(frames, tolerance: tolerance) : .none
    }
}

extension Demuxer {
    /// Whether the file holds a single stream, covers aside.
    var hasOneStream: Bool { streams.filter { !$0.isCover }.count == 1 }
}
