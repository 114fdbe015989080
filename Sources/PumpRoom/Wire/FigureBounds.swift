import Conversion
import Glibc

/// The largest numbers that a message of a room may hold, whatever its job.
///
/// Held by both ends: the room leaves out what a file makes it compute beyond them, so a slot that meets one is lied to. Sums and products of
/// a few of them fit into 64 bits.
enum FigureBound {
    /// Eleven years at 768 kHz.
    static let frames: Int64 = 1 << 48
    /// An exabyte.
    static let bytes: Int64 = 1 << 60
    /// A century.
    static let seconds = 3_155_760_000.0
    static let sampleRateHz = 1 << 31 - 1
    static let channels = 1 << 16
    /// Numbers of streams, and of tracks.
    static let stream = 1 << 16
    static let bitRate = 1 << 40
    /// Samples, tags, stretches: whatever is counted one by one.
    static let count: Int64 = 1 << 56

    static func holds(frames: Int64) -> Bool { (0...Self.frames).contains(frames) }

    static func holds(_ time: MediaTime) -> Bool { time.isNumeric && time.seconds.magnitude <= seconds }
}

/// What a job's frames can come to, by its source and its budget.
///
/// A budget is looked at once for each block and does not count the silence that stands for missing sound, so there is room for
/// eight times as much.
struct JobBounds {
    private(set) var frames = FigureBound.frames
    private(set) var seconds = FigureBound.seconds
    private(set) var outputBytes = FigureBound.bytes

    private static let slack = 8.0
    /// What may come of any source: silence for ten minutes and more, and a quarter of a gigabyte of sound.
    private static let freeSeconds = 3_600.0
    private static let freeBytes = 256.0 * 1_048_576
    private static let highestRateHz = 768_000.0
    /// What may be written between two looks at the budget.
    private static let unnoticedBytes: Int64 = 64 << 20

    init() {}

    /// `limits` are those that the room was given. `source` is looked at for its size; a pipe has none.
    init(_ limits: Recipe.Limits, source: Int32) {
        let concealed = Double(max(0, limits.concealSeconds ?? 0)) + Self.freeSeconds
        if let decoded = limits.decodedSeconds {
            seconds = min(seconds, Self.slack * Double(max(0, decoded)) + concealed)
        }
        if let ratio = limits.expansionRatio, let size = Self.size(of: source) {
            let decodedBytes = max(Double(size) * max(0, ratio), Self.freeBytes)
            let most = Self.slack * decodedBytes + concealed * Self.highestRateHz
            if most < Double(frames) { frames = Int64(most) }
        }
        if let bytes = limits.outputBytes, bytes < FigureBound.bytes - Self.unnoticedBytes {
            outputBytes = max(0, bytes) + Self.unnoticedBytes
        }
    }

    /// Whether so many frames may have been taken from the source.
    func holds(frames: Int64) -> Bool { (0...self.frames).contains(frames) }

    /// Whether sound of so many frames may be that long.
    func holds(frames: Int64, at rate: Int) -> Bool {
        FigureBound.holds(frames: frames) && rate > 0 && Double(frames) / Double(rate) <= seconds
    }

    private static func size(of descriptor: Int32) -> Int64? {
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int64(facts.st_size)
    }
}

extension Int64 {
    /// Itself, or the nearest end of 0 to `highest`.
    func bounded(to highest: Int64) -> Int64 { Swift.min(Swift.max(self, 0), highest) }
}

extension ConversionProgress {
    /// The progress without what a file claims and nothing can be.
    var bounded: ConversionProgress {
        var progress = self
        if let total = totalFrames, !FigureBound.holds(frames: total) { progress.totalFrames = nil }
        return progress
    }
}

extension DamageReport {
    /// The report with its numbers within their bounds, and no more stretches than are listed.
    var bounded: DamageReport {
        DamageReport(
            frames: frames.bounded(to: FigureBound.frames),
            stretchCount: Int(Int64(stretchCount).bounded(to: FigureBound.count)),
            stretches: stretches.prefix(Bound.stretches).map {
                Stretch(
                    start: $0.start.bounded(to: FigureBound.frames),
                    frames: $0.frames.bounded(to: FigureBound.frames),
                    code: $0.code.told(to: Bound.code)
                )
            }
        )
    }

    /// Whether nothing in it lies beyond the bounds.
    var isCredible: Bool {
        FigureBound.holds(frames: frames) && (0...FigureBound.count).contains(Int64(stretchCount))
            && stretches.count <= stretchCount
            && stretches.allSatisfy { FigureBound.holds(frames: $0.start) && FigureBound.holds(frames: $0.frames) }
    }
}

extension TrackReport {
    /// The track without figures that a header claims and no sound has.
    var bounded: TrackReport {
        var track = self
        if let frames, !FigureBound.holds(frames: frames) { (track.frames, track.exactness) = (nil, .unknown) }
        if let bitRate, !(0...FigureBound.bitRate).contains(bitRate) { track.bitRate = nil }
        if let delayFrames, !FigureBound.holds(frames: Int64(delayFrames)) { track.delayFrames = nil }
        if let paddingFrames, !FigureBound.holds(frames: Int64(paddingFrames)) { track.paddingFrames = nil }
        return track
    }

    var isCredible: Bool {
        (0...FigureBound.stream).contains(track) && (0...FigureBound.sampleRateHz).contains(sampleRateHz)
            && (0...FigureBound.channels).contains(channelCount) && FigureBound.holds(frames: frames ?? 0)
            && (0...FigureBound.bitRate).contains(bitRate ?? 0)
            && FigureBound.holds(frames: Int64(delayFrames ?? 0))
            && FigureBound.holds(frames: Int64(paddingFrames ?? 0))
            && (0...64).contains(bitDepth ?? 0)
    }
}

extension ResolvedFormat {
    var isCredible: Bool {
        (1...FigureBound.sampleRateHz).contains(sampleRateHz) && (1...FigureBound.channels).contains(channelCount)
            && (1...FigureBound.channels).contains(layout.channelCount) && (0...64).contains(bitDepth)
            && (0...FigureBound.bitRate).contains(bitRate ?? 0) && (quality ?? 0).magnitude <= 1e6
    }
}
