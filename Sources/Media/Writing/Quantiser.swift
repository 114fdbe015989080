import Conversion

/// Brings samples into the bits that an encoder stores: rounded, with noise where they do not fit, and counted where they
/// are beyond full scale.
///
/// Samples that fit stay as they are. From the first one that does not fit on, all are dithered: noise that came and
/// went with the sound would be heard. What comes out does not depend on how the sound is cut into blocks.
struct Quantiser {
    /// What comes out; integers.
    let target: SampleShape
    /// Significant bits of what comes out.
    let bits: Int
    private let dither: Dither
    /// Samples beyond full scale so far.
    private(set) var clippedSamples: Int64 = 0
    /// Whether a sample has not fitted.
    private(set) var hasRounded = false
    /// The same since the last restart.
    private var isRounding = false
    /// Frames so far: what the noise is numbered by.
    private var position: Int64 = 0

    init(to target: SampleShape, bits: Int, dither: Dither) {
        self.target = target
        self.bits = bits
        self.dither = dither
    }

    /// Begins anew, as with a fresh source: joined sources then give what each of them gives alone.
    mutating func restart() {
        isRounding = false
        position = 0
    }

    /// The format in which samples come here: interleaved or planar as they go out.
    func carrier(forIntegers: Bool) -> SampleFormat {
        switch (forIntegers, target.format.isPlanar) {
        case (true, false): .s32
        case (true, true): .s32Planar
        case (false, false): bits > 16 ? .f64 : .f32
        case (false, true): bits > 16 ? .f64Planar : .f32Planar
        }
    }

    /// Whether 32-bit samples of which `used` are the bits in use can go out as they are, and all the following ones
    /// are counted so.
    mutating func passes(_ block: borrowing SampleBlock, used: UInt32) -> Bool {
        guard !isRounding, block.shape == target, used & droppedBits == 0 else { return false }
        position += Int64(block.frameCount)
        return true
    }

    private var droppedBits: UInt32 { bits >= 32 ? 0 : ~0 >> UInt32(bits) }

    /// Rounds all of `block`, which is in the carrier's format, into `rounded`.
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
        run(block, shape, into: &rounded, Stored.self, start..<block.frameCount, dithers: dither == .tpdf)
        guard beyond > 0 else { return }
        if !block.holdsNumbers {
            throw MediaError(.encodeFailed, at: .encode, "the source has samples that are no numbers")
        }
        clippedSamples += beyond
        beyond = 0
    }

    /// Samples of the block at hand that are beyond full scale or no numbers.
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

    /// The first frame with a sample that does not fit, whatever its channel.
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
    /// The bits that any of the samples uses, which have 32 bits each.
    var usedBits: UInt32 {
        var used: Int32 = 0
        for plane in 0..<planeCount {
            used |= withPlane(plane) { bytes in
                var found: Int32 = 0
                for sample in bytes.bindMemory(to: Int32.self) { found |= sample }
                return found
            }
        }
        return UInt32(bitPattern: used)
    }

    /// Whether all samples, which are floats, are finite.
    var holdsNumbers: Bool {
        guard let format = shape?.format.interleaved else { return true }
        return (0..<planeCount).allSatisfy { plane in
            withPlane(plane) { bytes in
                format == .f64
                    ? bytes.bindMemory(to: Double.self).allSatisfy(\.isFinite)
                    : bytes.bindMemory(to: Float.self).allSatisfy(\.isFinite)
            }
        }
    }
}
