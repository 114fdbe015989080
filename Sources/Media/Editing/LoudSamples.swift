import Conversion

/// Something that looks at the samples of one plane. `isLoud` says whether a sample is above a level.
protocol LoudSearch {
    mutating func look<Sample>(
        at samples: UnsafeBufferPointer<Sample>,
        channels: Int,
        isLoud: (Sample) -> Bool
    )
}

/// The level above which a sample is loud. What is not a number is loud.
struct LoudLevel {
    private let level: Double

    /// A sample is loud if its amplitude is above `threshold`.
    init(above threshold: Gain) { level = threshold.amplitude }

    /// Has `search` look at the samples of each plane of `block`, in any format.
    func examine<Search: LoudSearch>(_ block: borrowing SampleBlock, by search: inout Search) {
        guard let shape = block.shape, block.frameCount > 0 else { return }
        let channels = shape.format.isPlanar ? 1 : shape.channelCount
        for plane in 0..<block.planeCount {
            block.withPlane(plane) { bytes in examine(bytes, shape.format, channels, by: &search) }
        }
    }

    private func examine<Search: LoudSearch>(
        _ bytes: UnsafeRawBufferPointer,
        _ format: SampleFormat,
        _ channels: Int,
        by search: inout Search
    ) {
        let level = level
        switch format.interleaved {
        case .u8:
            let most = (level * 0x1p7).rounded(.down)
            search.look(at: bytes.bindMemory(to: UInt8.self), channels: channels) {
                Double(abs(Int($0) - 128)) > most
            }
        case .s16:
            let most = Int32((level * 0x1p15).rounded(.down))
            search.look(at: bytes.bindMemory(to: Int16.self), channels: channels) { abs(Int32($0)) > most }
        case .s32:
            let most = Int64((level * 0x1p31).rounded(.down))
            search.look(at: bytes.bindMemory(to: Int32.self), channels: channels) { abs(Int64($0)) > most }
        case .s64:
            search.look(at: bytes.bindMemory(to: Int64.self), channels: channels) {
                !(abs(Double($0) * 0x1p-63) <= level)
            }
        case .f64: search.look(at: bytes.bindMemory(to: Double.self), channels: channels) { !(abs($0) <= level) }
        default: search.look(at: bytes.bindMemory(to: Float.self), channels: channels) { !(Double(abs($0)) <= level) }
        }
    }
}
