import Conversion

/// Rounds samples to the bit depth that an encoder stores, with dither where they do not fit, and
/// counts those beyond full scale.
///
/// Samples that fit stay unchanged. From the first sample that does not fit, all samples are dithered: noise that
/// came and went with the sound would be audible. The result does not depend on the block boundaries.
struct Quantiser {
    /// The output shape; integers.
    let target: SampleShape
    /// Significant bits of an output sample.
    let bits: Int
    private let dither: Dither
    /// Set if the noise is shaped.
    private var shaper: NoiseShaper?
    /// Samples beyond full scale so far.
    private(set) var clippedSamples: Int64 = 0
    /// Whether any sample did not fit.
    private(set) var hasRounded = false
    /// The same since the last `restart`.
    private var isRounding = false
    /// The frames so far, which number the noise.
    private var position: Int64 = 0

    init(to target: SampleShape, bits: Int, dither: Dither) {
        self.target = target
        self.bits = bits
        self.dither = dither
        if dither == .shaped {
            shaper = NoiseShaper(rate: target.sampleRateHz, channelCount: target.channelCount, bits: bits)
        }
    }

    /// Resets the noise, as for a new source: concatenated sources then give the same samples as each alone.
    mutating func restart() {
        isRounding = false
        position = 0
        shaper?.restart()
    }

    /// The format that input samples must have: interleaved or planar like the output.
    func carrier(forIntegers: Bool) -> SampleFormat {
        switch (forIntegers, target.format.isPlanar) {
        case (true, false): .s32
        case (true, true): .s32Planar
        case (false, false): bits > 16 ? .f64 : .f32
        case (false, true): bits > 16 ? .f64Planar : .f32Planar
        }
    }

    /// Whether a block of 32-bit samples can pass unchanged; `used` are the bits that any of its samples uses.
    ///
    /// If so, the block's frames are counted.
    mutating func passes(_ block: borrowing SampleBlock, used: UInt32) -> Bool {
        guard !isRounding, block.shape == target, used & droppedBits == 0 else { return false }
        position += Int64(block.frameCount)
        return true
    }

    private var droppedBits: UInt32 { bits >= 32 ? 0 : ~0 >> UInt32(bits) }

    /// Rounds all of `block`, which has the carrier's format, into `rounded`.
    mutating func quantise(_ block: borrowing SampleBlock, into rounded: inout SampleBlock) throws {
        guard let shape = block.shape else { return }
        try rounded.reserve(block.frameCount, target)
        switch target.format.interleaved {
        case .s16: try quantise(block, shape, into: &rounded, Int16.self)
        case .u8: try quantise(block, shape, into: &rounded, UInt8.self)
        default: try quantise(block, shape, into: &rounded, Int32.self)
        }
        position += Int64(block.frameCount)
    }

    private mutating func quantise<Stored: RoundedSample>(
        _ block: borrowing SampleBlock,
        _ shape: SampleShape,
        into rounded: inout SampleBlock,
        _: Stored.Type
    ) throws {
        var start = 0
        if !isRounding {
            let first = firstMisfit(block, shape)
            start = first ?? block.frameCount
            run(block, shape, into: &rounded, Stored.self, 0..<start, dithers: false)
            isRounding = first != nil
            hasRounded = hasRounded || isRounding
        }
        // No converter resolves the last of 32 bits, and samples that an edit leaves alone would lose theirs.
        let dithers = dither != .rounding && bits < 32
        run(block, shape, into: &rounded, Stored.self, start..<block.frameCount, dithers: dithers)
        guard beyond > 0 else { return }
        if !block.holdsNumbers {
            throw MediaError.notFinite
        }
        clippedSamples += beyond
        beyond = 0
    }

    /// The samples of the current block that are beyond full scale or NaN.
    private var beyond: Int64 = 0

    private mutating func run<Stored: RoundedSample>(
        _ block: borrowing SampleBlock,
        _ shape: SampleShape,
        into rounded: inout SampleBlock,
        _: Stored.Type,
        _ frames: Range<Int>,
        dithers: Bool
    ) {
        guard !frames.isEmpty else { return }
        if dithers, shaper != nil { return roundShaped(block, shape, into: &rounded, Stored.self, frames) }
        let rounding = SampleRounding(bits: bits, dithers: dithers)
        let isPlanar = shape.format.isPlanar
        let width = isPlanar ? 1 : shape.channelCount
        let (offset, count) = (frames.lowerBound * width, frames.count * width)
        let number = UInt32(truncatingIfNeeded: (position + Int64(frames.lowerBound)) * Int64(shape.channelCount))
        let step = UInt32(isPlanar ? shape.channelCount : 1)
        var found = 0
        for plane in 0..<block.planeCount {
            let numbers = SampleRounding.Numbers(first: number &+ UInt32(plane), step: step)
            block.withPlane(plane) { source in
                rounded.withMutablePlane(plane) { target in
                    let to = target.bindMemory(to: Stored.self).baseAddress! + offset
                    switch shape.format.interleaved {
                    case .f32:
                        let from = source.bindMemory(to: Float.self).baseAddress! + offset
                        found += rounding.round(from, into: to, count, numbers)
                    case .f64:
                        let from = source.bindMemory(to: Double.self).baseAddress! + offset
                        found += rounding.round(from, into: to, count, numbers)
                    default:
                        let from = source.bindMemory(to: Int32.self).baseAddress! + offset
                        rounding.round(from, into: to, count, numbers)
                    }
                }
            }
        }
        beyond += Int64(found)
    }

    /// Like `run`, with shaped noise: channel after channel, because each sample depends on those before it.
    private mutating func roundShaped<Stored: RoundedSample>(
        _ block: borrowing SampleBlock,
        _ shape: SampleShape,
        into rounded: inout SampleBlock,
        _: Stored.Type,
        _ frames: Range<Int>
    ) {
        let (isPlanar, channels) = (shape.format.isPlanar, shape.channelCount)
        let stride = isPlanar ? 1 : channels
        let number = UInt32(truncatingIfNeeded: (position + Int64(frames.lowerBound)) * Int64(channels))
        for channel in 0..<channels {
            let offset = frames.lowerBound * stride + (isPlanar ? 0 : channel)
            let numbers = SampleRounding.Numbers(first: number &+ UInt32(channel), step: UInt32(channels))
            block.withPlane(isPlanar ? channel : 0) { source in
                rounded.withMutablePlane(isPlanar ? channel : 0) { target in
                    let to = target.bindMemory(to: Stored.self).baseAddress! + offset
                    func run<Source: ShapedSample>(_: Source.Type) -> Int {
                        let from = source.bindMemory(to: Source.self).baseAddress! + offset
                        return shaper!.round(channel: channel, from, into: to, frames.count, stride: stride, numbers)
                    }
                    switch shape.format.interleaved {
                    case .f32: beyond += Int64(run(Float.self))
                    case .f64: beyond += Int64(run(Double.self))
                    default: _ = run(Int32.self)
                    }
                }
            }
        }
    }

    /// The first frame with a sample that does not fit, in any channel.
    private func firstMisfit(_ block: borrowing SampleBlock, _ shape: SampleShape) -> Int? {
        let rounding = SampleRounding(bits: bits, dithers: false)
        let width = shape.format.isPlanar ? 1 : shape.channelCount
        let dropped = Int32(bitPattern: droppedBits)
        var first: Int?
        for plane in 0..<block.planeCount {
            let place = block.withPlane(plane) { source -> Int? in
                switch shape.format.interleaved {
                case .f32: rounding.firstMisfit(in: source.bindMemory(to: Float.self))
                case .f64: rounding.firstMisfit(in: source.bindMemory(to: Double.self))
                default: source.bindMemory(to: Int32.self).firstIndex { $0 & dropped != 0 }
                }
            }
            guard let place else { continue }
            first = min(first ?? .max, place / width)
        }
        return first
    }
}

extension SampleBlock {
    /// The bits that any of the samples uses; for samples of 32 bits, and of 16 as the upper half of 32.
    var usedBits: UInt32 {
        var used: Int32 = 0
        if shape?.format.bytesPerSample == 2 {
            for plane in 0..<planeCount {
                used |= withPlane(plane) { bytes in
                    var found: Int16 = 0
                    for sample in bytes.bindMemory(to: Int16.self) { found |= sample }
                    return Int32(found) << 16
                }
            }
            return UInt32(bitPattern: used)
        }
        for plane in 0..<planeCount {
            used |= withPlane(plane) { bytes in
                var found: Int32 = 0
                for sample in bytes.bindMemory(to: Int32.self) { found |= sample }
                return found
            }
        }
        return UInt32(bitPattern: used)
    }

    /// Whether all samples are finite. Integers are.
    var holdsNumbers: Bool {
        guard let format = shape?.format, format.kind == .float else { return true }
        return (0..<planeCount).allSatisfy { plane in
            withPlane(plane) { bytes in
                // Differences of a number to itself, or NaN: the compiler vectorises such a loop.
                if format.interleaved == .f64 {
                    var sum = UInt64(0)
                    for sample in bytes.bindMemory(to: Double.self) { sum |= (sample - sample).bitPattern }
                    return sum == 0
                }
                var sum = UInt32(0)
                for sample in bytes.bindMemory(to: Float.self) { sum |= (sample - sample).bitPattern }
                return sum == 0
            }
        }
    }
}

extension MediaError {
    /// Samples that no processing and no integer can represent.
    static var notFinite: MediaError {
        MediaError(.encodeFailed, at: .encode, "the source has samples that are not finite (NaN or infinity)")
    }
}
