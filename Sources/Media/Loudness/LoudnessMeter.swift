public import Conversion

/// Measures loudness and peaks as EBU R 128 defines, in constant memory for any length.
///
/// It takes blocks of any sample format. Blocks of another rate or layout than the meter's are converted and mixed to
/// it, as an output of that shape would. The layout decides how much each channel counts. A mono track counts once:
/// played over two speakers, it is 3 LU louder than its figure.
public final class LoudnessMeter {
    private var converter: FormatConverter
    private let levels: LevelMeter

    /// A meter for sound of this rate and these channels; the sample format does not matter.
    public convenience init(shape: SampleShape) throws { try self.init(shape: shape, outlining: false) }

    /// The same, which with `outlining` also collects the outline of the sound, and with `surveying` its levels over time.
    package init(shape: SampleShape, outlining: Bool, surveying: Bool = false) throws {
        var target = shape
        target.format = .f32
        converter = try FormatConverter(to: target)
        levels = try LevelMeter(target, outlining: outlining, surveying: surveying)
    }

    /// Adds the samples of `block`, which keeps its memory.
    public func add(_ block: inout SampleBlock) throws {
        try converter.convert(&block) { try levels.add($0) }
    }

    /// The figures for everything that was added. Add nothing afterwards.
    public func finish() throws -> LoudnessReport { try finishTrack().report }

    /// The outline of everything that was added, once it is finished; `nil` if none was collected.
    package var outline: SoundOutline? { levels.outline }

    /// The levels of everything that was added, once it is finished; `nil` if none were measured.
    package var levelReport: LevelReport? { levels.survey?.report }

    /// The same figures, and what the sound contributes to the loudness of an album.
    public func finishTrack() throws -> TrackMeasure {
        try converter.drain { try levels.add($0) }
        let report = try levels.report()
        return TrackMeasure(report: report, album: levels.album(truePeakDBTP: report.truePeakDBTP))
    }
}

/// Measures interleaved floats in steps.
private final class LevelMeter {
    private let state: EBUR128State
    private let channelCount: Int
    private let blockFrames: Int
    /// The frames of the current block of 100 ms that have been added, and the steps of it that have been counted.
    private var place = 0
    private var stepsDone = 0
    private var windows = LoudnessWindows()
    private var outlineMeter: OutlineMeter?
    private(set) var survey: LevelSurvey?

    init(_ shape: SampleShape, outlining: Bool, surveying: Bool) throws {
        if outlining { outlineMeter = OutlineMeter() }
        if surveying { survey = LevelSurvey(shape) }
        state = try EBUR128State.open(rate: shape.sampleRateHz, layout: shape.layout)
        channelCount = shape.channelCount
        blockFrames = max(1, (shape.sampleRateHz + 5) / 10)
    }

    private var stepsPerBlock: Int { LoudnessWindows.stepsPerSecond / LoudnessWindows.blocksPerSecond }
    /// Where the current step ends. Below 1,000 Hz or at odd rates, steps differ by a frame.
    private var stepEnd: Int { blockFrames * (stepsDone + 1) / stepsPerBlock }

    func add(_ block: borrowing SampleBlock) throws {
        let frames = block.frameCount
        try block.withPlane(0) { bytes in
            guard let samples = bytes.bindMemory(to: Float.self).baseAddress else { return }
            var done = 0
            while done < frames {
                let count = min(frames - done, stepEnd - place)
                if count > 0 {
                    try state.add(samples + done * channelCount, frames: count)
                    outlineMeter?.add(samples + done * channelCount, count: count * channelCount)
                    survey?.add(samples + done * channelCount, frames: count)
                }
                done += count
                place += count
                if place == stepEnd { try finishStep() }
            }
        }
    }

    private func finishStep() throws {
        windows.add(step: try state.energy(ofLast: 1_000 / LoudnessWindows.stepsPerSecond))
        outlineMeter?.endStep(momentary: windows.momentaryEnergy)
        survey?.endStep()
        stepsDone += 1
        guard stepsDone == stepsPerBlock else { return }
        survey?.endBlock()
        windows.add(block: try state.energy(ofLast: 1_000 / LoudnessWindows.blocksPerSecond))
        (place, stepsDone) = (0, 0)
    }

    var outline: SoundOutline? { outlineMeter?.outline }

    func album(truePeakDBTP: Double?) -> AlbumMeasure {
        windows.isBroken ? AlbumMeasure() : windows.album(truePeakDBTP: truePeakDBTP)
    }

    func report() throws -> LoudnessReport {
        guard !windows.isBroken else { return LoudnessReport() }
        return LoudnessReport(
            integratedLUFS: windows.integrated,
            rangeLU: windows.range,
            momentaryMaxLUFS: windows.loudestMomentary.ifFinite,
            shortTermMaxLUFS: windows.loudestShortTerm.ifFinite,
            samplePeakDBFS: LoudnessScale.decibels(try state.samplePeak()).ifFinite,
            truePeakDBTP: LoudnessScale.decibels(try state.truePeak()).ifFinite
        )
    }
}

extension Double {
    fileprivate var ifFinite: Double? { isFinite ? self : nil }
}
