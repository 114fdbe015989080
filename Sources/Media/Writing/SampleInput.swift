import Conversion

/// Feeds samples into an output: converts them to the encoder's shape, queues them to its
/// block length, and encodes them.
final class SampleInput {
    let encoder: EncoderBox
    private(set) var digest: PCMDigest?
    /// Frames sent to the encoder, without the silence before and after them.
    private(set) var encodedFrames: Int64 = 0
    /// Frames in the packets that came out, without the delay before the sound.
    var packetFrames: Int64 { sink.durations - Int64(delay) }
    /// The delay: frames that a decoder must drop before the sound begins.
    var delay: Int { leadInFrames + encoder.value.delay }

    private var converter: FormatConverter
    private var queue: SampleQueue
    private var encoderBlock: SampleBlock
    private var packet: Packet
    private let sink: PacketSink
    private let blockFrames: Int
    /// Frames of silence sent before the sound, so that the delay fills whole packets.
    private let leadInFrames: Int
    private var sentFrames: Int64 = 0
    /// Set if the encoder swaps channels. It then has a queue, and nothing else shares the queue's blocks.
    private let channelOrder: [Int]?

    init(
        _ encoder: consuming Encoder,
        to sink: PacketSink,
        dither: Dither,
        precision: Resampler.Precision,
        leadInFrames: Int,
        digests: Bool
    ) throws {
        blockFrames = encoder.frameSize
        self.leadInFrames = leadInFrames
        converter = try FormatConverter(to: encoder.shape, bits: encoder.keptBits, dither: dither, precision: precision)
        queue = try SampleQueue.open(encoder.shape, capacity: max(blockFrames * 2, 1))
        encoderBlock = try SampleBlock()
        packet = try Packet()
        channelOrder = encoder.channelOrder
        digest = digests ? PCMDigest(bits: encoder.keptBits) : nil
        self.sink = sink
        self.encoder = EncoderBox(encoder)
        if leadInFrames > 0 { try queueSilence(leadInFrames) }
    }

    /// The frames that the output must have for the input so far.
    var plannedFrames: Int64 { converter.plannedFrames }

    /// The number of samples beyond full scale that were clipped.
    var clippedSamples: Int64 { converter.clippedSamples }

    /// The depth of the source's samples that the encoder cannot keep; `nil` if nothing is lost.
    var lostDepth: FormatConverter.Depth? { converter.lostDepth(of: sourceDepth ?? converter.sourceDepth) }

    /// The depth of the source if its samples were processed before they came here; `nil` if they come as they are.
    var sourceDepth: FormatConverter.Depth?

    /// The planned output frames including `block`, rounded down for that block.
    func plannedFrames(with block: borrowing SampleBlock, rate: Int) -> Int64 {
        let coming = Int128(block.frameCount) * Int128(encoder.value.shape.sampleRateHz) / Int128(max(1, rate))
        return plannedFrames + Int64(clamping: coming)
    }

    func append(_ block: inout SampleBlock) throws {
        try converter.convert(&block) { try take(&$0) }
    }

    /// Drains the resampler, the queue and the encoder, in this order.
    func finish() throws {
        try converter.drain { try take(&$0) }
        let rest = queue.count
        if rest > 0 {
            let whole = encoder.value.takesShortLastBlock ? max(rest, encoder.value.shortestLastBlock) : blockFrames
            if whole > rest { try queueSilence(whole - rest) }
            try queue.remove(whole, into: &encoderBlock)
            try encode(&encoderBlock, padding: whole - rest)
        }
        try encoder.value.sendEnd()
        try writePackets(padding: 0)
    }

    private func take(_ block: inout SampleBlock) throws {
        digest?.update(block)
        if blockFrames == 0 { return try encode(&block, padding: 0) }
        try queue.append(block)
        while queue.count >= blockFrames {
            try queue.remove(blockFrames, into: &encoderBlock)
            try encode(&encoderBlock, padding: 0)
        }
    }

    private func queueSilence(_ frames: Int) throws {
        var silence = try SampleBlock()
        try silence.reserve(frames, encoder.value.shape)
        silence.silence()
        try queue.append(silence)
    }

    /// Sends a block whose last `padding` frames are not sound.
    private func encode(_ block: inout SampleBlock, padding: Int) throws {
        // Nothing else shares a queue's blocks, and every such encoder has a queue.
        if encoder.value.wantsBoundedFloats, blockFrames > 0, !block.boundFloats() {
            throw MediaError.notFinite
        }
        if let channelOrder { block.reorder(channelOrder) }
        try encoder.value.send(block, position: sentFrames - Int64(leadInFrames))
        sentFrames += Int64(block.frameCount)
        encodedFrames = sentFrames - Int64(leadInFrames) - Int64(padding)
        try writePackets(padding: padding)
    }

    /// The next packet accounts for `padding`; only encoders without delay are ever padded.
    private func writePackets(padding: Int) throws {
        while case .filled = try encoder.value.receive(into: &packet) { try sink.take(&packet, padding: padding) }
    }
}

/// Shares one encoder between the sample path and the code that describes it in headers.
final class EncoderBox {
    let value: Encoder

    init(_ value: consuming Encoder) { self.value = value }
}
