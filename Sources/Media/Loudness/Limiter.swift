import Conversion
import Glibc

/// A stage that multiplies samples with one factor and keeps their true peak below a ceiling.
///
/// It takes blocks of floats of one shape and hands out as many frames of the same shape, each at its place: the
/// look-ahead is taken from the source and adds no delay. All channels get the same gain. Where nothing exceeds the
/// ceiling, a sample is only multiplied, and with the factor 1 it stays bit for bit the same. The result does not
/// depend on the block boundaries.
///
/// Counts and positions are those of the source, so that limits and progress refer to what was read.
public final class Limiter: SampleOutput {
    /// How far it looks ahead, and how slowly it recovers.
    private static let lookAheadSeconds = 0.005
    private static let releaseSeconds = 0.1
    /// Frames that are examined at once.
    private static let chunk = 128
    /// The frames of the blocks that it hands out.
    private static let blockFrames = 4_096

    /// The frames whose gain was reduced.
    public private(set) var limitedFrames: Int64 = 0
    /// The largest part of the amplitude that was taken away, from 0 to 1.
    public private(set) var largestReduction = 0.0

    private let source: any SampleOutput
    private let factor: Double
    private let ceiling: Double
    private var stages: Stages?
    private var input: SampleBlock
    private var reached: Int64 = 0
    private var hasEnded = false

    /// What depends on the shape of the sound.
    private final class Stages {
        let shape: SampleShape
        var envelope: TruePeakEnvelope
        var gain: GainReduction
        var queue: SampleQueue
        /// The reductions of the oldest frames in the queue.
        var reductions: [Double] = []
        /// Frames whose reduction comes out before that of the first frame.
        var early: Int

        init(_ shape: SampleShape, threshold: Double) throws {
            self.shape = shape
            let rate = Double(shape.sampleRateHz)
            envelope = TruePeakEnvelope(
                channelCount: shape.channelCount,
                capacity: Limiter.chunk,
                threshold: Float(threshold)
            )
            gain = GainReduction(
                lookAhead: Int(rate * Limiter.lookAheadSeconds),
                release: Int(rate * Limiter.releaseSeconds)
            )
            early = gain.delay + TruePeakEnvelope.reach
            queue = try SampleQueue.open(shape, capacity: Limiter.blockFrames)
        }
    }

    /// Multiplies with `gain` dB, and reduces what would exceed `ceiling` dBTP.
    public init(_ source: some SampleOutput, ceiling: Double, gain: Double = 0) throws {
        self.source = source
        self.ceiling = LoudnessScale.factor(ceiling)
        factor = gain == 0 ? 1 : LoudnessScale.factor(gain)
        input = try SampleBlock()
    }

    public var clockRateHz: Int { source.clockRateHz }
    public var deliveredFrames: Int64 { source.deliveredFrames }
    public var promisedFrames: Int64? { source.promisedFrames }

    /// The largest reduction in decibels, at least 0. One to silence counts as the largest that is not.
    public var largestReductionDB: Double {
        -LoudnessScale.decibels(max(1 - largestReduction, 1 / Double(GainReduction.whole))) + 0
    }

    public func next(into block: inout SampleBlock) throws -> Bool {
        while true {
            if let stages, !stages.reductions.isEmpty, stages.queue.count > 0 {
                try hand(out: &block, stages)
                return true
            }
            guard !hasEnded else { return false }
            if try source.next(into: &input) {
                reached = input.position + Int64(input.frameCount)
                if input.frameCount > 0 { try take(input) }
            } else {
                hasEnded = true
                // Silence follows, until the last frame's reduction has come out.
                if let stages { advance(stages, silence: 2 * TruePeakEnvelope.reach + stages.gain.delay) }
            }
        }
    }

    // MARK: In

    private func take(_ block: borrowing SampleBlock) throws {
        guard let shape = block.shape, shape.format.kind == .float, stages == nil || stages?.shape == shape else {
            throw MediaError(.resampleFailed, at: .resample, "a limiter takes floats of one shape")
        }
        guard block.holdsNumbers else { throw MediaError.notFinite }
        let stages = try stages ?? Stages(shape, threshold: ceiling)
        self.stages = stages
        do {
            try stages.queue.append(block)
        } catch let error as LibAVError {
            throw MediaError(error, .resampleFailed, at: .resample, "no memory for the sound ahead of a limiter")
        }
        let width = shape.format.isPlanar ? 1 : shape.channelCount
        for start in stride(from: 0, to: block.frameCount, by: Self.chunk) {
            let count = min(Self.chunk, block.frameCount - start)
            advance(stages, count) { channel, line in
                block.withPlane(shape.format.isPlanar ? channel : 0) { bytes in
                    let place = start * width + (shape.format.isPlanar ? 0 : channel)
                    if shape.format.interleaved == .f64 {
                        let samples = bytes.bindMemory(to: Double.self).baseAddress! + place
                        for frame in 0..<count { line[frame] = Float(samples[frame &* width] * self.factor) }
                    } else {
                        let samples = bytes.bindMemory(to: Float.self).baseAddress! + place
                        let factor = Float(self.factor)
                        for frame in 0..<count { line[frame] = samples[frame &* width] * factor }
                    }
                }
            }
        }
    }

    private func advance(_ stages: Stages, silence frames: Int) {
        for start in stride(from: 0, to: frames, by: Self.chunk) {
            let count = min(Self.chunk, frames - start)
            advance(stages, count) { _, line in line.update(repeating: 0, count: count) }
        }
    }

    private func advance(_ stages: Stages, _ count: Int, _ fill: (Int, UnsafeMutablePointer<Float>) -> Void) {
        withUnsafeTemporaryAllocation(of: Float.self, capacity: count) { peaks in
            stages.envelope.add(count, into: peaks.baseAddress!, fill)
            for peak in peaks {
                let reduction = stages.gain.next(wanted(for: Double(peak)))
                if stages.early > 0 { stages.early -= 1 } else { stages.reductions.append(reduction) }
            }
        }
    }

    /// The reduction that brings `peak` to the ceiling, rounded up. Beyond what floats hold, it is silence.
    private func wanted(for peak: Double) -> Int64 {
        guard peak > ceiling else { return 0 }
        let kept = peak.isFinite ? ceiling / peak : 0
        return min(Int64(((1 - kept) * Double(GainReduction.whole)).rounded(.up)), GainReduction.whole)
    }

    // MARK: Out

    private func hand(out block: inout SampleBlock, _ stages: Stages) throws {
        let count = min(stages.reductions.count, stages.queue.count, Self.blockFrames)
        do {
            try stages.queue.remove(count, into: &block)
        } catch let error as LibAVError {
            throw MediaError(error, .resampleFailed, at: .resample, "no memory for the sound behind a limiter")
        }
        block.position = position(ofLast: count, before: stages.queue.count, stages.shape)
        let width = stages.shape.format.isPlanar ? 1 : stages.shape.channelCount
        stages.reductions.withUnsafeBufferPointer { reductions in
            var isReduced = false
            for frame in 0..<count where reductions[frame] > 0 {
                isReduced = true
                limitedFrames += 1
                largestReduction = max(largestReduction, reductions[frame])
            }
            guard isReduced || factor != 1 else { return }
            for plane in 0..<block.planeCount {
                block.withMutablePlane(plane) { bytes in
                    if stages.shape.format.interleaved == .f64 {
                        scale(bytes.bindMemory(to: Double.self), reductions, width)
                    } else {
                        scale(bytes.bindMemory(to: Float.self), reductions, width)
                    }
                }
            }
        }
        stages.reductions.removeFirst(count)
    }

    /// The position of `count` frames after which `waiting` frames of what was read are yet to come.
    private func position(ofLast count: Int, before waiting: Int, _ shape: SampleShape) -> Int64 {
        reached - Int64(waiting) * Int64(source.clockRateHz) / Int64(max(1, shape.sampleRateHz)) - Int64(count)
    }

    private func scale<Sample: BinaryFloatingPoint>(
        _ samples: UnsafeMutableBufferPointer<Sample>,
        _ reductions: UnsafeBufferPointer<Double>,
        _ width: Int
    ) {
        for frame in 0..<samples.count / max(1, width) {
            let gain = Sample(factor * (1 - reductions[frame]))
            for channel in 0..<width { samples[frame &* width &+ channel] *= gain }
        }
    }
}
