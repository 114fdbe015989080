import CLibAV
import Glibc

/// The result of one call to a codec. Wanting more input is an answer, not a failure.
enum CodecAnswer { case filled, wantsInput, ended }

/// A single-threaded libav audio decoder. It returns every sample, and reports separately which ones to drop.
struct Decoder: ~Copyable {
    private let context: UnsafeMutablePointer<AVCodecContext>
    /// Where libav's decoder is wrong.
    private let traits: DecodingTraits
    /// The speakers of the channels; `nil` if libav names them right.
    private let speakers: SpeakerOrder?

    /// Takes ownership of `context`; no other code may free it.
    private init(
        adopting context: UnsafeMutablePointer<AVCodecContext>,
        _ traits: DecodingTraits,
        _ speakers: SpeakerOrder?
    ) {
        (self.context, self.traits, self.speakers) = (context, traits, speakers)
    }

    deinit {
        var doomed: UnsafeMutablePointer<AVCodecContext>? = context
        avcodec_free_context(&doomed)
    }

    /// Opens the allowed decoder for a stream. It reports damage as errors and never conceals it;
    /// the caller decides what to do. `speakers` are those of `Demuxer.speakers`.
    static func open(_ stream: InputStream, _ speakers: SpeakerOrder?) throws -> Decoder {
        let parameters = stream.pointer.pointee.codecpar!
        guard let codec = stream.decoder else {
            throw LibAVError("av_codec_iterate", SLUICE_AVERROR_DECODER_NOT_FOUND)
        }
        let context = try allocated(avcodec_alloc_context3(codec), "avcodec_alloc_context3")
        let traits = stream.codec.decoding
        let decoder = Decoder(adopting: context, traits, speakers)
        try checkSource(avcodec_parameters_to_context(context, parameters), "avcodec_parameters_to_context")
        context.pointee.pkt_timebase = stream.pointer.pointee.time_base
        context.pointee.thread_count = 1
        context.pointee.flags2 |= AV_CODEC_FLAG2_SKIP_MANUAL
        let checks = traits.isIntact == nil ? AV_EF_CRCCHECK : 0
        context.pointee.err_recognition = checks | AV_EF_EXPLODE
        context.pointee.codec_whitelist = av_strdup(Allowlist.decoderList)
        try checkSource(avcodec_open2(context, codec, nil), "avcodec_open2")
        return decoder
    }

    /// Sends a packet. Call `receive` until it returns `.wantsInput`. A damaged packet throws.
    func send(_ packet: borrowing Packet) throws {
        if let isMisjudged = traits.isMisjudged, context.pointee.bits_per_raw_sample > 24 {
            let checks = packet.withBytes(isMisjudged) ? 0 : AV_EF_CRCCHECK
            context.pointee.err_recognition = checks | AV_EF_EXPLODE
        }
        if let mended = traits.mended, let (place, bytes) = packet.withBytes(mended) {
            packet.replaceBytes(at: place, with: bytes)
        }
        if let isIntact = traits.isIntact, packet.withBytes(isIntact) == false {
            throw LibAVError.invalidData("avcodec_send_packet")
        }
        try checkSource(avcodec_send_packet(context, packet.pointer), "avcodec_send_packet")
    }

    func sendEnd() throws { try checkSource(avcodec_send_packet(context, nil), "avcodec_send_packet") }

    /// Fills `block` with the next samples, all of them. `skip` counts the frames at either end
    /// that are not part of the sound.
    func receive(into block: inout SampleBlock) throws -> (answer: CodecAnswer, skip: (start: Int, end: Int)) {
        let result = avcodec_receive_frame(context, block.pointer)
        if result == -EAGAIN { return (.wantsInput, (0, 0)) }
        if result == SLUICE_AVERROR_EOF { return (.ended, (0, 0)) }
        try checkSource(result, "avcodec_receive_frame")
        if traits.inventsLayout(block.channelCount) || speakers?.mask == 0 { block.forgetPositions() }
        if let order = speakers?.channels { block.reorder(order) }
        if traits.labelsRateLate { block.pointer.pointee.sample_rate = context.pointee.sample_rate }
        guard let side = av_frame_get_side_data(block.pointer, AV_FRAME_DATA_SKIP_SAMPLES), side.pointee.size >= 10
        else { return (.filled, (0, 0)) }
        let data = side.pointee.data!
        func word(_ offset: Int) -> Int { (0..<4).reduce(0) { $0 | Int(data[offset + $1]) << (8 * $1) } }
        let skip = (start: word(0), end: word(4))
        // libav 5.1 gives no such block.
        if traits.mayGiveDroppedBlock, skip.start > 0, skip.start == block.frameCount {
            return try receive(into: &block)
        }
        return (.filled, skip)
    }

    /// Resets the decoder, as after a seek.
    func flush() { avcodec_flush_buffers(context) }

    /// Frames per packet if the codec fixes them, otherwise zero.
    var frameSize: Int { Int(context.pointee.frame_size) }

    /// The shape that the decoder reports for its samples; `nil` while it is unknown.
    var shape: SampleShape? {
        guard let format = SampleFormat(code: context.pointee.sample_fmt), context.pointee.sample_rate > 0 else {
            return nil
        }
        return SampleShape(
            format: format,
            sampleRateHz: Int(context.pointee.sample_rate),
            channelCount: Int(context.pointee.ch_layout.nb_channels),
            channelMask: context.pointee.ch_layout.waveMask
        )
    }
}
