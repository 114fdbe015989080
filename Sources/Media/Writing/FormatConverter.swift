/// Brings blocks of any shape into one shape, on one output clock.
///
/// A block that has the shape already goes through untouched. A change of rate, layout or sample format drains the
/// resampler and builds another.
struct FormatConverter: ~Copyable {
    let target: SampleShape
    private var clock: OutputClock
    private var resampler: Resampler?
    private var converted: SampleBlock
    private var emitted: Int64 = 0

    /// Frames that a resampler may give less than the exact count, by rounding; they are filled with silence.
    private static let roundingFrames: Int64 = 2

    init(to target: SampleShape) throws {
        self.target = target
        clock = OutputClock(rate: target.sampleRateHz)
        converted = try SampleBlock()
    }

    /// Frames that must have gone out once the converter is drained.
    var plannedFrames: Int64 { clock.planned }

    mutating func convert(
        _ block: inout SampleBlock,
        _ emit: (inout SampleBlock) throws -> Void
    ) throws {
        guard let shape = block.shape, block.frameCount > 0 else { return }
        let present = resampler?.input ?? target
        if shape != present {
            try drain(emit)
            resampler = nil
        }
        clock.add(block.frameCount, rate: shape.sampleRateHz)
        if shape == target {
            emitted += Int64(block.frameCount)
            return try emit(&block)
        }
        do {
            if resampler == nil { resampler = try Resampler.open(from: shape, to: target) }
            try resampler!.convert(block, into: &converted)
        } catch let error as LibAVError {
            throw failure(error)
        }
        try emitConverted(emit)
    }

    /// Takes the rest out, so that exactly the planned frames have gone out.
    mutating func drain(_ emit: (inout SampleBlock) throws -> Void) throws {
        guard resampler != nil else { return }
        while emitted < clock.planned {
            do {
                try resampler!.drain(into: &converted)
            } catch let error as LibAVError {
                throw failure(error)
            }
            if converted.frameCount == 0 { break }
            try emitConverted(emit)
        }
        let missing = clock.planned - emitted
        guard missing > 0 else { return }
        guard missing <= Self.roundingFrames else {
            throw MediaError(
                .resampleFailed,
                at: .resample,
                "the resampler gave \(emitted) of \(clock.planned) frames, \(missing) are missing"
            )
        }
        try converted.reserve(Int(missing), target)
        converted.silence()
        try emitConverted(emit)
    }

    private func failure(_ error: LibAVError) -> MediaError {
        MediaError(error, .resampleFailed, at: .resample, "the samples cannot be brought into \(target)")
    }

    private mutating func emitConverted(_ emit: (inout SampleBlock) throws -> Void) throws {
        let surplus = max(0, emitted + Int64(converted.frameCount) - clock.planned)
        if surplus > 0 { converted.trim(front: 0, back: Int(min(surplus, Int64(converted.frameCount)))) }
        guard converted.frameCount > 0 else { return }
        emitted += Int64(converted.frameCount)
        try emit(&converted)
    }
}
