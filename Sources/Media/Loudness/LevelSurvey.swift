import Conversion
import Glibc

/// Measures plain levels over time, in constant memory: for `LevelReport`.
///
/// The loudness meter gives it interleaved samples in steps of 10 ms, ten of which are a block.
struct LevelSurvey {
    private let rate: Int
    private let channelCount: Int
    private var frames: Int64 = 0
    private var whole = Energy()
    private var step = Energy()
    private var block = Energy()
    /// The blocks of the last second, with their first frames.
    private var recent: [(energy: Energy, start: Int64)] = []
    private var blockStart: Int64 = 0
    private var loudest: (level: Double, start: Int64)?
    private var quietest: (level: Double, start: Int64)?
    /// The quietest half second without a step of digital silence.
    private var quietestNoise: (level: Double, start: Int64)?
    private var peak: Float = -1
    private var peakFrame: Int64 = 0
    /// From the first step that is louder than room tone to the end of the last.
    private var sound: (start: Int64, end: Int64)?
    private var stepStart: Int64 = 0

    /// Blocks of the windows.
    private static let loudBlocks = 10
    private static let quietBlocks = 5
    /// Samples of floats that are farther from 0 count as this.
    private static let largestSample = Float(SoundOutline.largestSample)
    /// The mean square above which a step is no room tone.
    private static let tonePower = pow(10, LevelReport.toneDBFS / 10)
    /// The mean square below which a step is digital silence: less than 16 bits hold.
    private static let digitalPower = pow(10, LevelReport.digitalSilenceDBFS / 10)
    /// By how much a pause is softer than the whole.
    private static let pauseRatio = pow(10, -LevelReport.pauseDecibels / 10)

    init(_ shape: SampleShape) { (rate, channelCount) = (shape.sampleRateHz, max(1, shape.channelCount)) }

    /// The sum of the squares of samples.
    private struct Energy {
        var sum = 0.0
        var count: Int64 = 0
        /// Whether a step of it is digital silence.
        var hasDigitalSilence = false

        static func += (left: inout Energy, right: Energy) {
            left.sum += right.sum
            left.count += right.count
            if right.hasDigitalSilence { left.hasDigitalSilence = true }
        }

        var power: Double { count > 0 ? sum / Double(count) : 0 }
    }

    mutating func add(_ samples: UnsafePointer<Float>, frames count: Int) {
        var part = Energy(count: Int64(count * channelCount))
        for (index, sample) in UnsafeBufferPointer(start: samples, count: count * channelCount).enumerated() {
            // What is not a number counts as silence.
            let size = sample.isNaN ? 0 : min(abs(sample), Self.largestSample)
            if size > peak { (peak, peakFrame) = (size, frames + Int64(index / channelCount)) }
            part.sum += Double(size) * Double(size)
        }
        step += part
        frames += Int64(count)
    }

    mutating func endStep() {
        if step.count > 0 {
            if step.power > Self.tonePower { sound = (sound?.start ?? stepStart, frames) }
            step.hasDigitalSilence = step.power < Self.digitalPower
        }
        block += step
        (step, stepStart) = (Energy(), frames)
    }

    /// Ends a block, after its last step.
    mutating func endBlock() {
        whole += block
        if recent.count == Self.loudBlocks { recent.removeFirst() }
        recent.append((block, blockStart))
        (block, blockStart) = (Energy(), frames)
        if let second = window(of: Self.loudBlocks), second.level > loudest?.level ?? -1 { loudest = second }
        guard let half = window(of: Self.quietBlocks) else { return }
        if half.level < quietest?.level ?? .infinity { quietest = half }
        if half.level < quietestNoise?.level ?? .infinity,
            !recent.suffix(Self.quietBlocks).contains(where: \.energy.hasDigitalSilence)
        {
            quietestNoise = half
        }
    }

    /// The mean square of the last blocks; `nil` before there are so many.
    private func window(of count: Int) -> (level: Double, start: Int64)? {
        guard recent.count >= count else { return nil }
        var energy = Energy()
        for place in (recent.count - count)..<recent.count { energy += recent[place].energy }
        return (energy.power, recent[recent.count - count].start)
    }

    /// The quietest half second of a pause that is no digital silence; if there is none, the quietest of all.
    private func noiseFloor(_ wholePower: Double) -> (level: Double, start: Int64)? {
        guard let quietestNoise, quietestNoise.level <= wholePower * Self.pauseRatio else { return quietest }
        return quietestNoise
    }

    /// The levels of everything that was added.
    var report: LevelReport {
        var all = self
        // Less than a step, and less than a block.
        all.endStep()
        all.whole += all.block
        guard all.whole.count > 0 else { return LevelReport() }
        return LevelReport(
            length: time(frames),
            rmsDBFS: Self.decibels(all.whole.power),
            loudestSecond: loudest.map(passage),
            noiseFloor: noiseFloor(all.whole.power).map(passage),
            peakAt: time(peakFrame),
            toneAtStart: time(all.sound?.start ?? frames),
            toneAtEnd: time(frames - (all.sound?.end ?? 0))
        )
    }

    private func time(_ frame: Int64) -> MediaTime { MediaTime(frames: frame, rate: rate) }

    private func passage(_ window: (level: Double, start: Int64)) -> LevelReport.Passage {
        LevelReport.Passage(levelDBFS: Self.decibels(window.level), start: time(window.start))
    }

    /// In hundredths, as the figures of `LoudnessReport.rounded` are.
    private static func decibels(_ power: Double) -> Double {
        let level = power > 0 ? 10 * log10(power) : LevelReport.silenceDBFS
        return (max(level, LevelReport.silenceDBFS) * 100).rounded() / 100 + 0
    }
}
