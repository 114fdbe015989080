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
            // A length that no track has is no promise, and the arithmetic below is not made for it.
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
        switch demuxer.name {
        case "w64", "aiff", "caf", "au", "nistsphere", "sox":
            // Compressed sound in these containers has only a rounded length. From a pipe only the header can be
            // read, and that may have been written before the length was known.
            let isPlaceholder = StreamedHeader.isPlaceholder(
                Int64(clamping: Int128(exact) * Int128(stream.pcmBytesPerFrame))
            )
            self = stream.isPCM && exact > 0 && !isPlaceholder ? .exact(exact) : .none
        case "flac", "tta", "wv", "ape":
            self = exact > 0 ? .exact(exact) : .none
        case "mov,mp4,m4a,3gp,3g2,mj2":
            // A pipe does not show the resolution of the ticks in which the file states its length.
            self =
                exact > 0 && demuxer.source.isSeekable
                ? .exact(exact) : .about(near, tolerance: Int64(rate / 100), unlessZero: true)
        case "mpc", "mpc8":
            self = .about(near, tolerance: 2 * 1152, unlessZero: true)
        case "dsf":
            self = .about(near, tolerance: 8 * 4096, unlessZero: true)
        case "matroska,webm", "flv", "rm":
            // The file states the length of its longest track.
            let length = demuxer.hasOneStream ? demuxer.durationMicroseconds ?? 0 : 0
            let frames = MediaTime(value: length, timescale: 1_000_000).frames(atRate: rate)?.frames ?? 0
            // That length includes priming and padding, which last long at low rates.
            self = .about(frames, tolerance: Int64(rate / 5) + 4096, unlessZero: true)
        case "ogg":
            // The last page of a chained stream covers only the last link. In an excerpt it counts too much.
            let preSkip = Int64(stream.codecName == "opus" ? stream.opusPreSkip : 0)
            let sound = near - Int64(stream.codecDelay ?? 0)
            self =
                exact > preSkip && stream.startsAtZero && demuxer.source.endsAsItBegan
                ? .exact(exact - preSkip)
                : .about(demuxer.hasOneStream ? sound : 0, tolerance: Int64(rate), unlessZero: true)
        case "asf":
            self = .about(demuxer.hasOneStream ? near : 0, tolerance: Int64(rate), unlessZero: true)
        default:
            self = .none
        }
    }

    private static func about(_ frames: Int64, tolerance: Int64, unlessZero: Bool) -> LengthPromise {
        (1..<Plausible.frames).contains(frames) ? .about(frames, tolerance: tolerance) : .none
    }
}

extension ByteSource {
    /// Whether an Ogg file is a single stream from its first page to its last, and the last is marked as such.
    fileprivate var endsAsItBegan: Bool {
        guard let first = OggPages(self)?.goodPage(at: 0), let last = SourceEnd(ofOgg: self).lastPage else {
            return false
        }
        return last.endsStream && first.serial == last.serial
    }
}

extension Demuxer {
    /// Whether the file holds a single stream, covers aside.
    fileprivate var hasOneStream: Bool { streams.filter { !$0.isCover }.count == 1 }
}
