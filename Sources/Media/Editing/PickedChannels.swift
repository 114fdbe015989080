import Conversion

/// Some channels of another output, in any order, with every bit as it is.
final class PickedChannels: SampleOutput {
    private let output: any SampleOutput
    /// The channels of the source, counted from 0.
    private let channels: [Int]
    private var taken: SampleBlock

    init(_ output: any SampleOutput, _ pick: ChannelPick) throws {
        self.output = output
        channels = pick.places
        taken = try SampleBlock()
    }

    var clockRateHz: Int { output.clockRateHz }
    var deliveredFrames: Int64 { output.deliveredFrames }
    var promisedFrames: Int64? { output.promisedFrames }

    func next(into block: inout SampleBlock) throws -> Bool {
        guard try output.next(into: &taken) else { return false }
        guard var shape = taken.shape else { return true }
        if let missing = channels.first(where: { $0 >= shape.channelCount }) {
            throw MediaError(
                .formatRefused,
                at: .resample,
                "there is no channel \(missing + 1): the source has \(Plural.count(shape.channelCount, "channel"))"
            )
        }
        let given = shape.channelCount
        shape.channelCount = channels.count
        shape.channelMask = ChannelPick.layout(of: channels.count).mask
        try block.reserve(taken.frameCount, shape)
        block.position = taken.position
        let width = shape.format.bytesPerSample
        for (place, channel) in channels.enumerated() {
            if shape.format.isPlanar {
                taken.withPlane(channel) { source in block.withMutablePlane(place) { $0.copyMemory(from: source) } }
            } else {
                taken.withPlane(0) { source in
                    block.withMutablePlane(0) { target in
                        for frame in 0..<taken.frameCount {
                            let from = source.baseAddress! + (frame * given + channel) * width
                            (target.baseAddress! + (frame * channels.count + place) * width)
                                .copyMemory(from: from, byteCount: width)
                        }
                    }
                }
            }
        }
        return true
    }
}

/// All channels of another output, mixed to mono.
final class SummedChannels: SampleOutput {
    private let output: any SampleOutput
    private let sound: ClockedSound
    private(set) var deliveredFrames: Int64 = 0

    private static let blockFrames = 4096

    init(_ output: any SampleOutput) throws {
        self.output = output
        let mono = ChannelLayout.mono
        let shape = SampleShape(
            format: .f32Planar,
            sampleRateHz: output.clockRateHz,
            channelCount: mono.channelCount,
            channelMask: mono.mask
        )
        sound = try ClockedSound(output, clock: shape, precision: .fine)
    }

    var clockRateHz: Int { output.clockRateHz }
    var promisedFrames: Int64? { output.promisedFrames }

    func next(into block: inout SampleBlock) throws -> Bool {
        let count = try sound.read(Self.blockFrames, into: &block)
        block.position = deliveredFrames
        deliveredFrames += Int64(count)
        return count > 0
    }
}

extension ChannelPick {
    /// The channels to take, counted from 0; none if all are mixed.
    fileprivate var places: [Int] {
        switch self {
        case .left: [0]
        case .right: [1]
        case .swap: [1, 0]
        case .numbers(let numbers): numbers.map { $0 - 1 }
        case .sum: []
        }
    }

    static func layout(of count: Int) -> ChannelLayout { ChannelLayout.standard(for: count) ?? .discrete(count) }
}
