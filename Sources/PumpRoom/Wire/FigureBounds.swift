package import Conversion
import Glibc

/// The largest numbers that a room's message may hold, whatever its job.
///
/// Both ends apply them. The room leaves out larger values, which a broken file can make it compute. So a slot that
/// receives one knows that the room is compromised. Sums and products of a few of these numbers fit into 64 bits.
enum FigureBound {
    /// Eleven years at 768 kHz.
    static let frames: Int64 = 1 << 48
    /// One exbibyte (2^60 bytes).
    static let bytes: Int64 = 1 << 60
    /// A century, in seconds.
    static let seconds = 3_155_760_000.0
    static let sampleRateHz = 1 << 31 - 1
    static let channels = 1 << 16
    /// Indices of streams and of tracks.
    static let stream = 1 << 16
    static let bitRate = 1 << 40
    /// Anything counted one by one: samples, tags, stretches.
    static let count: Int64 = 1 << 56
    /// Decibels and loudness units, above and below zero: no float is louder than 770 dB.
    static let decibels = 1_000.0

    static func holds(frames: Int64) -> Bool { (0...Self.frames).contains(frames) }

    static func holds(_ time: MediaTime) -> Bool { time.isNumeric && time.seconds.magnitude <= seconds }
}

/// The highest figures that a job can report, given its source and its limits.
///
/// The room checks its budget once for each block, and the budget does not count concealed silence. The bounds
/// therefore allow eight times as much.
struct JobBounds {
    private(set) var frames = FigureBound.frames
    private(set) var seconds = FigureBound.seconds
    /// The longest sound, other than silence, that a source of this size holds.
    private(set) var audibleSeconds = FigureBound.seconds
    private(set) var outputBytes = FigureBound.bytes

    private static let slack = 8.0
    /// What any source may yield, however small it is: an hour of silence beyond `concealSeconds`, since the default
    /// limit of concealed silence is ten minutes and more, and 256 MiB of decoded sound.
    private static let freeSeconds = 3_600.0
    private static let freeBytes = 256.0 * 1_048_576
    private static let highestRateHz = 768_000.0
    /// Half a kilobit. AMR, which sends the noise of pauses in fewer bytes than other codecs here, needs 81. Tones without
    /// any noise may need less, and then weigh less.
    private static let bytesPerAudibleSecond = 64.0
    /// What a job may write between two checks of its budget.
    private static let unnoticedBytes: Int64 = 64 << 20

    init() {}

    /// `limits` are those that the room was given. `source` is a descriptor, examined only for its size; a pipe has
    /// none. It is not examined if its size is known: the file system may not answer. Without both, the size of sources
    /// sets no bound: a timeline may repeat them.
    init(_ limits: Recipe.Limits, source: Int32?, byteCount: Int64? = nil) {
        let concealed = Double(max(0, limits.concealSeconds ?? 0)) + Self.freeSeconds
        if let decoded = limits.decodedSeconds {
            seconds = min(seconds, Self.slack * Double(max(0, decoded)) + concealed)
        }
        if let ratio = limits.expansionRatio, let size = byteCount ?? source.flatMap(Self.size) {
            let decodedBytes = max(Double(size) * max(0, ratio), Self.freeBytes)
            let most = Self.slack * decodedBytes + concealed * Self.highestRateHz
            if most < Double(frames) { frames = Int64(most) }
        }
        if let byteCount { audibleSeconds = min(seconds, Double(max(0, byteCount)) / Self.bytesPerAudibleSecond) }
        if let bytes = limits.outputBytes, bytes < FigureBound.bytes - Self.unnoticedBytes {
            outputBytes = max(0, bytes) + Self.unnoticedBytes
        }
    }

    /// Whether the source can have yielded this many frames.
    func holds(frames: Int64) -> Bool { (0...self.frames).contains(frames) }

    /// Whether this many frames at `rate` last no longer than the job may decode.
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
    /// The value, clamped to 0...`highest`.
    func bounded(to highest: Int64) -> Int64 { Swift.min(Swift.max(self, 0), highest) }
}

extension ConversionProgress {
    /// The progress without a total that is impossible, whatever the file claims.
    package var bounded: ConversionProgress {
        var progress = self
        if let total = totalFrames, !FigureBound.holds(frames: total) { progress.totalFrames = nil }
        return progress
    }
}

extension DamageReport {
    /// The report with its numbers within their bounds, and at most `Bound.stretches` stretches listed.
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

    /// Whether every number lies within its bounds.
    var isCredible: Bool {
        FigureBound.holds(frames: frames) && (0...FigureBound.count).contains(Int64(stretchCount))
            && stretches.count <= stretchCount
            && stretches.allSatisfy { FigureBound.holds(frames: $0.start) && FigureBound.holds(frames: $0.frames) }
    }
}

extension LoudnessReport {
    var isCredible: Bool { figures.allSatisfy { $0.magnitude <= FigureBound.decibels } }
}

extension LoudnessChange {
    var isCredible: Bool {
        figures.allSatisfy { $0.magnitude <= FigureBound.decibels } && FigureBound.holds(frames: limitedFrames)
    }
}

extension TrackReport {
    /// The track without figures that the header claims and no sound can have.
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
            && packetRatesAreCredible && decodedShapesAreCredible
            && FigureBound.holds(frames: Int64(delayFrames ?? 0))
            && FigureBound.holds(frames: Int64(paddingFrames ?? 0))
            && (0...64).contains(bitDepth ?? 0)
    }

    private var decodedShapesAreCredible: Bool {
        let (rates, counts) = (decodedSampleRatesHz ?? 0...0, decodedChannelCounts ?? 0...0)
        return rates.lowerBound >= 0 && rates.upperBound <= FigureBound.sampleRateHz
            && counts.lowerBound >= 0 && counts.upperBound <= FigureBound.channels
    }

    /// Either both or none, the lowest first.
    private var packetRatesAreCredible: Bool {
        guard let lowestBitRate, let highestBitRate else { return lowestBitRate == nil && highestBitRate == nil }
        return lowestBitRate >= 0 && lowestBitRate <= highestBitRate && highestBitRate <= FigureBound.bitRate
    }
}

extension ResolvedFormat {
    var isCredible: Bool {
        (1...FigureBound.sampleRateHz).contains(sampleRateHz) && (1...FigureBound.channels).contains(channelCount)
            && (1...FigureBound.channels).contains(layout.channelCount) && (0...64).contains(bitDepth)
            && (0...FigureBound.bitRate).contains(bitRate ?? 0) && (quality ?? 0).magnitude <= 1e6
    }
}
