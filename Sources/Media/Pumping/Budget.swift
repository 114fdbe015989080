package import Conversion

/// The resources that one conversion may use; `nil` means no limit.
public struct Budget: Sendable, Hashable {
    /// Bytes of the output.
    public var outputBytes: Int64?
    /// Seconds of audio that the decoder produces, and that all outputs together hold.
    public var decodedSeconds: Int?
    /// Bytes of samples per byte of the source: of the decoded samples, and of those of all outputs together. It applies
    /// only above `freeBytes`.
    public var expansionRatio: Double?
    /// Seconds of processor time on the converting thread.
    public var cpuSeconds: Int?
    /// Seconds of processor time until the source is open. Limited separately: most sources open in a few milliseconds.
    public var openSeconds: Int?

    public init(
        outputBytes: Int64? = nil,
        decodedSeconds: Int? = nil,
        expansionRatio: Double? = nil,
        cpuSeconds: Int? = nil,
        openSeconds: Int? = nil
    ) {
        self.outputBytes = outputBytes
        self.decodedSeconds = decodedSeconds
        self.expansionRatio = expansionRatio
        self.cpuSeconds = cpuSeconds
        self.openSeconds = openSeconds
    }

    /// The bytes of samples allowed for a source of any size: a few seconds of silence are not a decompression bomb.
    static let freeBytes: Int64 = 256 << 20
}

/// The sound that the outputs of a job hold together for each second that is decoded.
///
/// Resampling makes it larger than what was decoded: an hour at 4 Hz is 29 kB, and 691 MB in an output of 16 bits at
/// 96 kHz.
package struct OutputSound: Sendable {
    /// The number of outputs that hold each second.
    let count: Int
    /// The bytes of their samples.
    let bytesPerSecond: Double

    /// For a source that is only read.
    package static let none = OutputSound(count: 0, bytesPerSecond: 0)

    /// Of outputs each of which holds all of the sound.
    init(ofAll formats: [ResolvedFormat]) {
        self.init(count: formats.count, bytesPerSecond: formats.reduce(0) { $0 + $1.sampleBytesPerSecond })
    }

    /// Of outputs that hold different parts of the sound.
    init(ofParts formats: [ResolvedFormat]) {
        self.init(count: 1, bytesPerSecond: formats.map(\.sampleBytesPerSecond).max() ?? 0)
    }

    private init(count: Int, bytesPerSecond: Double) { (self.count, self.bytesPerSecond) = (count, bytesPerSecond) }
}

extension ResolvedFormat {
    /// The samples of lossy codecs count as 16 bits, like those of a lossy source.
    fileprivate var sampleBytesPerSecond: Double {
        let sampleBytes = isLossless ? max(1, (bitDepth + 7) / 8) : 2
        return Double(sampleRateHz) * Double(channelCount * sampleBytes)
    }
}

/// Checks a budget once per block during a conversion, without allocating.
package final class BudgetWatch {
    /// Reading the processor clock is a system call: once in this many blocks is often enough, and a short clip
    /// makes only the first call.
    private static let blocksPerLook = 32

    private let frameLimit: Int64
    private let expandedFrameLimit: Int64
    private let byteLimit: Int64
    private let cpuLimit: Duration?
    private let budget: Budget
    private let cpuAtStart: Duration
    private let stage: Failure.Stage
    private let outputs: OutputSound
    /// Whether the samples of the outputs are more bytes than the decoded ones.
    private let outputsAreLarger: Bool
    /// Starts full, so that the first block checks the time: opening a source also takes time.
    private var blocks = blocksPerLook

    /// The processor time of the calling thread so far: the starting point of a job's budget.
    package static func now() -> Duration { ThreadClock.cpu() }

    /// `sourceBytes` is `nil` for a source of unknown size, whose expansion cannot be computed. Processor time
    /// counts from `cpuAtStart`. `outputs` is what the decoded sound becomes. `spareFrames` are allowed beyond
    /// `decodedSeconds`.
    package convenience init(
        _ budget: Budget,
        track: Track,
        sourceBytes: Int64?,
        since cpuAtStart: Duration,
        at stage: Failure.Stage = .decode,
        outputs: OutputSound = .none,
        spareFrames: Int64 = 0
    ) {
        self.init(
            budget,
            rateHz: track.sampleRateHz,
            frameBytes: max(1, track.channelCount * (track.bitDepth > 0 ? (track.bitDepth + 7) / 8 : 2)),
            sourceBytes: sourceBytes,
            since: cpuAtStart,
            at: stage,
            outputs: outputs,
            spareFrames: spareFrames
        )
    }

    /// Like the other initialiser, for sound at `rateHz` that has `frameBytes` bytes in each frame.
    package init(
        _ budget: Budget,
        rateHz: Int,
        frameBytes: Int,
        sourceBytes: Int64?,
        since cpuAtStart: Duration,
        at stage: Failure.Stage = .decode,
        outputs: OutputSound = .none,
        spareFrames: Int64 = 0
    ) {
        self.budget = budget
        self.cpuAtStart = cpuAtStart
        self.stage = stage
        self.outputs = outputs
        let rate = Double(max(1, rateHz))
        let ratePerOutput = rate / Double(max(1, outputs.count))
        frameLimit = budget.decodedSeconds.map { Int64(clamping: $0, times: ratePerOutput) + spareFrames } ?? .max
        byteLimit = budget.outputBytes ?? .max
        cpuLimit = budget.cpuSeconds.map { .seconds($0) }
        let decodedBytes = Double(max(1, frameBytes))
        let outputBytes = outputs.bytesPerSecond / rate
        outputsAreLarger = outputBytes > decodedBytes
        if let ratio = budget.expansionRatio, let sourceBytes {
            let allowed = max(Double(sourceBytes) * ratio, Double(Budget.freeBytes))
            expandedFrameLimit = Int64(min(allowed / max(decodedBytes, outputBytes), Double(Int64.max / 2)))
        } else {
            expandedFrameLimit = .max
        }
    }

    /// Throws if `frames` decoded frames exceed the budget. Called before they are converted: at a low sample rate, one
    /// block may become hours of sound.
    func checkSound(frames: Int64, rate: Int) throws {
        guard frames > frameLimit || frames > expandedFrameLimit else { return }
        throw exceeded(frames: frames, bytes: 0, rate: rate)
    }

    /// Throws if `frames` decoded frames, `bytes` written bytes or the processor time so far exceed the budget.
    package func check(frames: Int64, bytes: Int64 = 0, rate: Int) throws {
        if frames > frameLimit || frames > expandedFrameLimit || bytes > byteLimit {
            throw exceeded(frames: frames, bytes: bytes, rate: rate)
        }
        blocks += 1
        guard blocks >= Self.blocksPerLook, let cpuLimit else { return }
        blocks = 0
        guard ThreadClock.cpu() - cpuAtStart > cpuLimit else { return }
        throw error(
            .cpuExceeded,
            at: stage,
            "the job exceeded its limit of \(budget.cpuSeconds!) s of CPU time",
            frames,
            rate,
            hint: "raise cpuSeconds"
        )
    }

    private func exceeded(frames: Int64, bytes: Int64, rate: Int) -> MediaError {
        if bytes > byteLimit {
            let detail = "the output exceeded its limit of \(Plural.count(byteLimit, "byte"))"
            return error(.outputBytesExceeded, at: .write, detail, frames, rate, hint: "raise outputBytes")
        }
        if frames > frameLimit {
            let sound = outputs.count > 1 ? "the sound of \(outputs.count) outputs together" : "the decoded sound"
            let detail = "\(sound) exceeded its limit of \(budget.decodedSeconds!) s"
            return error(.decodedSecondsExceeded, at: stage, detail, frames, rate, hint: "raise decodedSeconds")
        }
        let count = Plural.count(outputs.count, "output")
        let what = outputsAreLarger ? "the sound of \(count) expanded" : "the source expanded"
        let detail = "\(what) to more than \(budget.expansionRatio!) times the size of the source"
        return error(.expansionExceeded, at: stage, detail, frames, rate, hint: "raise expansionRatio")
    }

    private func error(
        _ code: FailureCode,
        at stage: Failure.Stage,
        _ detail: String,
        _ frames: Int64,
        _ rate: Int,
        hint: String
    ) -> MediaError {
        MediaError(
            code,
            at: stage,
            detail,
            position: MediaTime(frames: frames, rate: rate),
            frame: frames,
            hint: "\(hint) if the file is trustworthy"
        )
    }
}

extension Int64 {
    fileprivate init(clamping seconds: Int, times rate: Double) {
        self = Int64(Swift.min(Double(seconds) * rate, Double(Int64.max / 2)))
    }
}
