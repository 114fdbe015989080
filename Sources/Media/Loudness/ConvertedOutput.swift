import Conversion

/// The samples of another output as floats of the rate and the channels that an encoder will get.
///
/// Counts and positions are those of the source.
final class ConvertedOutput: SampleOutput {
    /// The shape of every block that comes out.
    let shape: SampleShape

    private let source: any SampleOutput
    /// Called with each shape that comes in.
    private let note: (SampleShape) throws -> Void
    private var converter: FormatConverter
    private var queue: SampleQueue
    private var input: SampleBlock
    private var inputShape: SampleShape?
    private var reached: Int64 = 0
    private var hasEnded = false

    private static let blockFrames = 4_096

    /// Doubles if the encoder keeps more bits than singles have.
    init(_ source: some SampleOutput, for format: ResolvedFormat, note: @escaping (SampleShape) throws -> Void) throws {
        self.source = source
        self.note = note
        let isFine = format.isLossless && format.bitDepth > 16
        let holdsSingles = format.sampleKind == .float && format.bitDepth == 32
        let shape = SampleShape(
            format: isFine && !holdsSingles ? .f64 : .f32,
            sampleRateHz: format.sampleRateHz,
            channelCount: format.channelCount,
            channelMask: format.layout.mask
        )
        self.shape = shape
        converter = try FormatConverter(to: shape, precision: format.resamplerPrecision)
        do {
            queue = try SampleQueue.open(shape, capacity: Self.blockFrames)
        } catch let error as LibAVError {
            throw MediaError(error, .resampleFailed, at: .resample, "no memory for converted samples")
        }
        input = try SampleBlock()
    }

    var clockRateHz: Int { source.clockRateHz }
    var deliveredFrames: Int64 { source.deliveredFrames }
    var promisedFrames: Int64? { source.promisedFrames }

    /// The depth of the source's samples.
    var sourceDepth: FormatConverter.Depth? { converter.sourceDepth }

    func next(into block: inout SampleBlock) throws -> Bool {
        do {
            while queue.count == 0, !hasEnded { try fill() }
            guard queue.count > 0 else { return false }
            let count = min(queue.count, Self.blockFrames)
            try queue.remove(count, into: &block)
            // What still waits is not handed out yet, on the clock of the source.
            let waiting = Int64(queue.count) * Int64(source.clockRateHz) / Int64(max(1, shape.sampleRateHz))
            block.position = reached - waiting - Int64(count)
            return true
        } catch let error as LibAVError {
            throw MediaError(error, .resampleFailed, at: .resample, "the samples cannot be converted to \(shape)")
        }
    }

    private func fill() throws {
        guard try source.next(into: &input) else {
            hasEnded = true
            return try converter.drain { try queue.append($0) }
        }
        reached = input.position + Int64(input.frameCount)
        if let shape = input.shape, shape != inputShape, input.frameCount > 0 {
            inputShape = shape
            try note(shape)
        }
        try converter.convert(&input) { try queue.append($0) }
    }
}

/// Hands on the samples of another output and measures their loudness.
final class MeteredOutput: SampleOutput {
    let meter: LoudnessMeter
    private let source: any SampleOutput

    init(_ source: some SampleOutput, _ meter: LoudnessMeter) {
        self.source = source
        self.meter = meter
    }

    var clockRateHz: Int { source.clockRateHz }
    var deliveredFrames: Int64 { source.deliveredFrames }
    var promisedFrames: Int64? { source.promisedFrames }

    func next(into block: inout SampleBlock) throws -> Bool {
        guard try source.next(into: &block) else { return false }
        try meter.add(&block)
        return true
    }
}
