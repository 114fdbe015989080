import Conversion

/// Hands on blocks of any shape. If the rate or the channels change midway, the sound is converted to those of its
/// beginning, so that all windows are equally long.
final class ShapedSound {
    let shape: SampleShape
    private let analysis: any SoundAnalysis
    /// Frames that came in this shape before any other came.
    private var directFrames: Int64 = 0
    private var carrier: Carrier?

    private final class Carrier {
        var converter: FormatConverter
        var plannedFrames: Int64 { converter.plannedFrames }

        init(to shape: SampleShape) throws { converter = try FormatConverter(to: shape) }
    }

    init(_ shape: SampleShape, _ analysis: any SoundAnalysis) { (self.shape, self.analysis) = (shape, analysis) }

    var channelCount: Int { analysis.channelCount }
    /// The frames that were analysed.
    var frames: Int64 { analysis.frames }
    /// The frames that must have been analysed at the end.
    var plannedFrames: Int64 { directFrames + (carrier?.plannedFrames ?? 0) }

    func add(_ block: inout SampleBlock) throws {
        guard let other = block.shape else { return }
        let fits = other.sampleRateHz == shape.sampleRateHz && other.channelCount == shape.channelCount
        if fits, carrier == nil {
            directFrames += Int64(block.frameCount)
            return try analysis.add(block)
        }
        var floats = shape
        floats.format = .f32
        let used = try carrier ?? Carrier(to: floats)
        carrier = used
        try used.converter.convert(&block) { try analysis.add($0) }
    }

    /// Hands on the rest, and checks that all frames were analysed.
    func finish() throws {
        if let carrier { try carrier.converter.drain { try analysis.add($0) } }
        try analysis.finish()
        guard frames == plannedFrames else {
            throw MediaError(
                .frameCountMismatch,
                at: .finish,
                "planned \(Plural.count(plannedFrames, "frame")), but the waveform shows \(frames)"
            )
        }
    }
}
