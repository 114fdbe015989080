/// The way of samples into an output: converted to what the encoder takes, queued to its block length, encoded.
final class SampleInput {
    let encoder: EncoderBox
    private(set) var digest: PCMDigest?
    /// Frames given to the encoder, silence to fill its last block not counted.
    private(set) var encodedFrames: Int64 = 0
    /// Frames in the packets that came out, the encoder's delay taken off.
    var packetFrames: Int64 { sink.durations - Int64(encoder.value.delay) }

    private var converter: FormatConverter
    private var queue: SampleQueue
    private var encoderBlock: SampleBlock
    private var packet: Packet
    private let sink: PacketSink
    private let blockFrames: Int

    init(_ encoder: consuming Encoder, to sink: PacketSink, digests: Bool) throws {
        blockFrames = encoder.frameSize
        converter = try FormatConverter(to: encoder.shape)
        queue = try SampleQueue.open(encoder.shape, room: max(blockFrames * 2, 1))
        encoderBlock = try SampleBlock()
        packet = try Packet()
        digest = digests ? PCMDigest() : nil
        self.sink = sink
        self.encoder = EncoderBox(encoder)
    }

    /// Frames that the output must have for what was appended so far.
    var plannedFrames: Int64 { converter.plannedFrames }

    func append(_ block: inout SampleBlock) throws {
        try converter.convert(&block) { try take(&$0) }
    }

    /// Drains, in this order, resampler, queue and encoder.
    func finish() throws {
        try converter.drain { try take(&$0) }
        if queue.count > 0 {
            let rest = queue.count
            let takesShort = encoder.value.takesShortLastBlock
            try queue.remove(rest, into: &encoderBlock)
            if takesShort {
                try encode(&encoderBlock, sound: rest)
            } else {
                try padAndEncode(rest)
            }
        }
        try encoder.value.sendEnd()
        try writePackets()
    }

    private func take(_ block: inout SampleBlock) throws {
        digest?.update(block)
        if blockFrames == 0 { return try encode(&block, sound: block.frameCount) }
        try queue.append(block)
        while queue.count >= blockFrames {
            try queue.remove(blockFrames, into: &encoderBlock)
            try encode(&encoderBlock, sound: blockFrames)
        }
    }

    /// For encoders that take whole blocks only: the rest of the last one is silence.
    private func padAndEncode(_ rest: Int) throws {
        var padding = try SampleBlock()
        try padding.reserve(blockFrames - rest, encoder.value.shape)
        padding.silence()
        try queue.append(encoderBlock)
        try queue.append(padding)
        try queue.remove(blockFrames, into: &encoderBlock)
        try encode(&encoderBlock, sound: rest)
    }

    private func encode(_ block: inout SampleBlock, sound: Int) throws {
        try encoder.value.send(block, position: encodedFrames)
        encodedFrames += Int64(sound)
        try writePackets()
    }

    private func writePackets() throws {
        while case .filled = try encoder.value.receive(into: &packet) { try sink.take(&packet) }
    }
}

/// Shares one encoder between the samples' way in and the headers that describe it.
final class EncoderBox {
    let value: Encoder

    init(_ value: consuming Encoder) { self.value = value }
}
