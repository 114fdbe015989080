import Conversion

/// How long a container says that a track is, and how firmly.
public enum LengthPromise: Sendable, Hashable {
    /// So many frames, and not one more or less.
    case exact(Int64)
    /// About so many frames; a shortfall within the tolerance is rounding and not damage.
    case about(Int64, tolerance: Int64)
    /// The container says nothing that could be relied on.
    case none

    /// The promised frames, however firm.
    public var frames: Int64? {
        switch self {
        case .exact(let frames), .about(let frames, _): frames
        case .none: nil
        }
    }

    /// The frames that are certain.
    public var exactFrames: Int64? { if case .exact(let frames) = self { frames } else { nil } }

    /// Frames missing from a track that gave only `delivered`, beyond what rounding explains.
    func shortfall(_ delivered: Int64) -> Int64 {
        switch self {
        case .exact(let frames): max(0, frames - delivered)
        case .about(let frames, let tolerance): frames - delivered > tolerance ? frames - delivered : 0
        case .none: 0
        }
    }
}

extension LengthPromise {
    /// What the container of `demuxer` promises for `stream`.
    init(of stream: InputStream, in demuxer: Demuxer, facts: ContainerFacts?) {
        let rate = stream.sampleRateHz
        guard rate > 0, facts?.isOpenEnded != true else {
            self = .none
            return
        }
        if let facts, let sound = facts.soundFrames {
            // What no track has is no promise, and nothing below it is to reckon with.
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
            // Compressed sound in these containers has only a rounded length. Of a pipe only the header
            // is known, which may have been written before the end was.
            let isPlaceholder = StreamedHeader.isPlaceholder(
                Int64(clamping: Int128(exact) * Int128(stream.pcmBytesPerFrame))
            )
            self = stream.isPCM && exact > 0 && !isPlaceholder ? .exact(exact) : .none
        case "flac", "tta", "wv", "ape":
            self = exact > 0 ? .exact(exact) : .none
        case "mov,mp4,m4a,3gp,3g2,mj2":
            // A pipe does not show how coarse the ticks are in which the file states its length.
            self =
                exact > 0 && demuxer.source.isSeekable
                ? .exact(exact) : .about(near, tolerance: Int64(rate / 100), unlessZero: true)
        case "mpc", "mpc8":
            self = .about(near, tolerance: 2 * 1152, unlessZero: true)
        case "dsf":
            self = .about(near, tolerance: 8 * 4096, unlessZero: true)
        case "matroska,webm", "flv", "rm":
            // The file's length is its longest track's.
            let length = demuxer.hasOneStream ? demuxer.durationMicroseconds ?? 0 : 0
            let frames = MediaTime(value: length, timescale: 1_000_000).frames(atRate: rate)?.frames ?? 0
            // Priming and padding are part of it, and at low rates they last long.
            self = .about(frames, tolerance: Int64(rate / 5) + 4096, unlessZero: true)
        case "ogg":
            // Of a chain the last page knows one link only, and of a stream that was cut out of another too much.
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
    /// Whether an Ogg file is one stream from its first page to its marked last one.
    fileprivate var endsAsItBegan: Bool {
        guard let first = OggPages(self)?.goodPage(at: 0), let last = SourceEnd(ofOgg: self).lastPage else {
            return false
        }
        return last.endsStream && first.serial == last.serial
    }
}

extension Demuxer {
    /// Whether, covers aside, there is nothing but one track.
    fileprivate var hasOneStream: Bool { streams.filter { !$0.isCover }.count == 1 }
}
