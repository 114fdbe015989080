import Conversion

/// Converts blocks of any shape to one shape, on one output clock.
///
/// A block that already has the shape passes unchanged. Otherwise libswresample changes the sample rate, mixes with
/// our matrix and rearranges the samples, and a `Quantiser` rounds what does not fit. When the input's shape
/// changes, the converter drains the resampler and builds a new one.
struct FormatConverter: ~Copyable {
    let target: SampleShape
    private let precision: Resampler.Precision
    /// Rounds samples; `nil` if the target holds floats.
    private(set) var quantiser: Quantiser?
    private var clock: OutputClock
    private var input: SampleShape?
    private var way = Way.asItIs
    private var resampler: Resampler?
    /// Whether a sample of the result depends on several of the input.
    private var mixes = false
    private var converted: SampleBlock
    private var rounded: SampleBlock
    private var emitted: Int64 = 0
    /// The bits that integer samples of the source use.
    private var usedBits: UInt32 = 0
    private var sourceFormats: Set<SampleFormat> = []

    /// How blocks of one shape are converted.
    private enum Way { case asItIs, rounded, resampled, resampledAndRounded }

    /// The frames that a resampler may fall short of the exact count by rounding; silence replaces them.
    private static let roundingFrames: Int64 = 2

    /// `bits` is the number of bits that the target's integers keep; `nil` means all.
    init(to target: SampleShape, bits: Int? = nil, dither: Dither = .tpdf, precision: Resampler.Precision = .usual)
        throws
    {
        let converted = try SampleBlock()
        let rounded = try SampleBlock()
        self.target = target
        self.precision = precision
        let width = target.format.bytesPerSample * 8
        let kept = min(bits ?? width, width, 32)
        quantiser = target.format.kind == .integer ? Quantiser(to: target, bits: kept, dither: dither) : nil
        clock = OutputClock(rate: target.sampleRateHz)
        self.converted = converted
        self.rounded = rounded
    }

    /// The frames that the converter must have emitted once it is drained.
    var plannedFrames: Int64 { clock.planned }

    /// The number of samples beyond full scale.
    var clippedSamples: Int64 { quantiser?.clippedSamples ?? 0 }

    mutating func convert(
        _ block: inout SampleBlock,
        _ emit: (inout SampleBlock) throws -> Void
    ) throws {
        guard let shape = block.shape, block.frameCount > 0 else { return }
        if shape != input {
            try drain(emit)
            try prepare(for: shape)
        }
        clock.add(block.frameCount, rate: shape.sampleRateHz)
        // A filter would spread such a sample over all within its reach, and a mix over all channels.
        if mixes, !block.holdsNumbers { throw MediaError.notFinite }
        let used = shape.format.interleaved == .s32 ? block.usedBits : 0
        usedBits |= used
        if shape.format.interleaved == .s16, countsShortSamples { usedBits |= block.usedBits }
        var isReady = way == .asItIs
        if way == .rounded { isReady = quantiser!.passes(block, used: used) }
        if isReady {
            emitted += Int64(block.frameCount)
            return try emit(&block)
        }
        if way == .rounded {
            try quantiser!.quantise(block, into: &rounded)
            emitted += Int64(rounded.frameCount)
            return try emit(&rounded)
        }
        do {
            try resampler!.convert(block, into: &converted)
        } catch let error as LibAVError {
            throw failure(error)
        }
        try emitConverted(emit)
    }

    /// Drains the resampler, so that exactly the planned frames have been emitted.
    mutating func drain(_ emit: (inout SampleBlock) throws -> Void) throws {
        guard let carrier = resampler?.output else { return }
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
                "the resampler returned \(emitted) of \(Plural.count(clock.planned, "frame")); \(missing) missing"
            )
        }
        try converted.reserve(Int(missing), carrier)
        converted.silence()
        try emitConverted(emit)
    }

    /// `source` if it exceeds what the target keeps; `nil` if the target keeps every bit.
    ///
    /// Bits that are always zero do not count, nor do bits that only mixing and resampling created.
    func lostDepth(of source: Depth?) -> Depth? {
        guard let source else { return nil }
        let holdsSingles = target.format.interleaved == .f32
        if source.isFloat {
            let isReduced: Bool
            if let quantiser { isReduced = quantiser.hasRounded } else { isReduced = source.bits == 64 && holdsSingles }
            return isReduced ? source : nil
        }
        let kept: Int
        if let quantiser { kept = quantiser.bits } else { kept = holdsSingles ? 24 : 53 }
        return source.bits > kept ? source : nil
    }

    /// The depth of the samples that came in; `nil` for 8 bits, which every target keeps.
    var sourceDepth: Depth? {
        for format in [SampleFormat.f64, .f32] where sourceFormats.contains(format) {
            return Depth(bits: format.bytesPerSample * 8, isFloat: true)
        }
        if sourceFormats.contains(.s32) {
            return Depth(bits: usedBits == 0 ? 0 : 32 - usedBits.trailingZeroBitCount, isFloat: false)
        }
        guard sourceFormats.contains(.s16) else { return nil }
        // A FLAC file of 8 bits, for example, has samples of 16 bits of which the lower half is empty.
        let isCounted = countsShortSamples && usedBits != 0
        return Depth(bits: isCounted ? 32 - usedBits.trailingZeroBitCount : 16, isFloat: false)
    }

    /// Whether it matters how many bits samples of 16 bits use.
    private var countsShortSamples: Bool { (quantiser?.bits ?? 0) < 16 }

    /// The sample type of a source.
    struct Depth {
        let bits: Int
        let isFloat: Bool
    }

    private func failure(_ error: LibAVError) -> MediaError {
        MediaError(error, .resampleFailed, at: .resample, "the samples cannot be converted to \(target)")
    }

    private mutating func prepare(for shape: SampleShape) throws {
        resampler = nil
        quantiser?.restart()
        input = shape
        sourceFormats.insert(shape.format.interleaved)
        let mix = try ChannelMix(from: shape, to: target)
        let staysInOrder = mix.isIdentity && shape.sampleRateHz == target.sampleRateHz
        var carrier = target
        var isRounded = false
        if let quantiser {
            let isInteger = shape.format.kind == .integer && shape.format.bytesPerSample <= 4
            let fits = isInteger && shape.format.bytesPerSample * 8 <= quantiser.bits
            isRounded = !(fits && staysInOrder)
            if isRounded { carrier.format = quantiser.carrier(forIntegers: isInteger && staysInOrder) }
        }
        let isSame = staysInOrder && shape.format == carrier.format
        switch (isSame, isRounded) {
        case (true, false): way = .asItIs
        case (true, true): way = .rounded
        case (false, false): way = .resampled
        case (false, true): way = .resampledAndRounded
        }
        mixes = !staysInOrder
        guard !isSame else { return }
        do {
            resampler = try Resampler.open(from: shape, to: carrier, mix: mix, precision: precision)
        } catch let error as LibAVError {
            throw failure(error)
        }
    }

    private mutating func emitConverted(_ emit: (inout SampleBlock) throws -> Void) throws {
        let surplus = max(0, emitted + Int64(converted.frameCount) - clock.planned)
        if surplus > 0 { converted.trim(front: 0, back: Int(min(surplus, Int64(converted.frameCount)))) }
        guard converted.frameCount > 0 else { return }
        emitted += Int64(converted.frameCount)
        guard way == .resampledAndRounded else { return try emit(&converted) }
        try quantiser!.quantise(converted, into: &rounded)
        try emit(&rounded)
    }
}

extension ChannelMix {
    /// The mix from one shape to another; throws if the channels cannot be mixed.
    init(from shape: SampleShape, to target: SampleShape) throws {
        guard let mix = ChannelMix(from: shape.layout, to: target.layout) else {
            throw MediaError(
                .resampleFailed,
                at: .resample,
                "cannot mix from \(shape.layout) to \(target.layout)"
            )
        }
        self = mix
    }
}

extension SampleShape {
    /// The speaker layout, or a plain channel count.
    var layout: ChannelLayout {
        ChannelLayout(mask: channelMask).flatMap { $0.channelCount == channelCount ? $0 : nil }
            ?? .discrete(channelCount)
    }
}
