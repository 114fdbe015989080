import Conversion

/// Finds the first and the last frame of a sound that exceeds a level, block by block.
struct SilenceMeter {
    /// Frames that have been added.
    private(set) var frames: Int64 = 0
    /// From the first loud frame to the one after the last; `nil` while all is silent.
    private(set) var sound: Range<Int64>?
    private let level: Double

    /// A frame is loud if the amplitude of a sample in any channel is above `threshold`.
    init(threshold: Gain) { level = threshold.amplitude }

    /// Adds samples of any format. What is not a number is loud.
    mutating func add(_ block: borrowing SampleBlock) {
        guard let shape = block.shape, block.frameCount > 0 else { return }
        if let loud = loud(in: block, shape) {
            let start = sound?.lowerBound ?? frames + Int64(loud.lowerBound)
            sound = start..<frames + Int64(loud.upperBound)
        }
        frames += Int64(block.frameCount)
    }

    /// From the first loud frame of the block to the one after the last. Only as much as needed is looked at: after
    /// the first sound, the block is searched from its end.
    private func loud(in block: borrowing SampleBlock, _ shape: SampleShape) -> Range<Int>? {
        var result: Range<Int>?
        for plane in 0..<block.planeCount {
            let width = shape.format.isPlanar ? 1 : shape.channelCount
            let found = block.withPlane(plane) { bytes in loud(in: bytes, shape.format, width) }
            guard let found else { continue }
            result = result.map { min($0.lowerBound, found.lowerBound)..<max($0.upperBound, found.upperBound) } ?? found
        }
        return result
    }

    private func loud(in bytes: UnsafeRawBufferPointer, _ format: SampleFormat, _ width: Int) -> Range<Int>? {
        let level = level
        switch format.interleaved {
        case .u8:
            let most = (level * 0x1p7).rounded(.down)
            return find(bytes.bindMemory(to: UInt8.self), width) { Double(abs(Int($0) - 128)) > most }
        case .s16:
            let most = Int32((level * 0x1p15).rounded(.down))
            return find(bytes.bindMemory(to: Int16.self), width) { abs(Int32($0)) > most }
        case .s32:
            let most = Int64((level * 0x1p31).rounded(.down))
            return find(bytes.bindMemory(to: Int32.self), width) { abs(Int64($0)) > most }
        case .s64: return find(bytes.bindMemory(to: Int64.self), width) { !(abs(Double($0) * 0x1p-63) <= level) }
        case .f64: return find(bytes.bindMemory(to: Double.self), width) { !(abs($0) <= level) }
        default: return find(bytes.bindMemory(to: Float.self), width) { !(Double(abs($0)) <= level) }
        }
    }

    private func find<Sample>(
        _ samples: UnsafeBufferPointer<Sample>,
        _ width: Int,
        isLoud: (Sample) -> Bool
    ) -> Range<Int>? {
        guard let last = samples.lastIndex(where: isLoud) else { return nil }
        // After the first sound of all, where a block's sound begins does not matter.
        let first = sound == nil ? samples.firstIndex(where: isLoud) ?? last : 0
        return first / width..<last / width + 1
    }
}

/// The silence at the ends of a range that a timeline has left out.
struct TrimmedSilence: Sendable, Hashable {
    /// The frames at the start and at the end, on the source's clock.
    var start: Int64 = 0
    var end: Int64 = 0
}

extension SilenceTrim {
    /// What of a sound of `frames` frames at `rate` is left out, if only `sound` of it is loud.
    func trimmed(_ sound: Range<Int64>, of frames: Int64, rate: Int) -> TrimmedSilence {
        let shortest = max(shortest.frames(atRate: rate)?.frames ?? .max, 1)
        var trimmed = TrimmedSilence()
        if trimsStart, sound.lowerBound >= shortest { trimmed.start = sound.lowerBound }
        if trimsEnd, frames - sound.upperBound >= shortest { trimmed.end = frames - sound.upperBound }
        return trimmed
    }
}
