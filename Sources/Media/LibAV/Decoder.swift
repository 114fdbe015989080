import CLibAV
import Glibc

/// The result of one call to a codec. Wanting more input is an answer, not a failure.
enum CodecAnswer { case filled, wantsInput, ended }

/// A single-threaded libav audio decoder. It returns every sample, and reports separately which ones to drop.
struct Decoder: ~Copyable {
    private let context: UnsafeMutablePointer<AVCodecContext>

    /// Takes ownership of `context`; no other code may free it.
    private init(adopting context: UnsafeMutablePointer<AVCodecContext>) { self.context = context }

    deinit {
        var doomed: UnsafeMutablePointer<AVCodecContext>? = context
        avcodec_free_context(&doomed)
    }

    /// Opens the allowed decoder for a stream. It reports damage as errors and never conceals it;
    /// the caller decides what to do.
    static func open(_ stream: InputStream) throws -> Decoder {
        let parameters = stream.pointer.pointee.codecpar!
        guard let codec = stream.decoder else {
            throw LibAVError("av_codec_iterate", SLUICE_AVERROR_DECODER_NOT_FOUND)
        }
        let context = try allocated(avcodec_alloc_context3(codec), "avcodec_alloc_context3")
        let decoder = Decoder(adopting: context)
        try checkSource(avcodec_parameters_to_context(context, parameters), "avcodec_parameters_to_context")
        context.pointee.pkt_timebase = stream.pointer.pointee.time_base
        context.pointee.thread_count = 1
        context.pointee.flags2 |= AV_CODEC_FLAG2_SKIP_MANUAL
        // See `LayerIChecksum`.
        let checks = codec.pointee.id == AV_CODEC_ID_MP1 ? 0 : AV_EF_CRCCHECK
        context.pointee.err_recognition = checks | AV_EF_EXPLODE
        context.pointee.codec_whitelist = av_strdup(Allowlist.decoderList)
        try checkSource(avcodec_open2(context, codec, nil), "avcodec_open2")
        return decoder
    }

    /// Sends a packet. Call `receive` until it returns `.wantsInput`. A damaged packet throws.
    func send(_ packet: borrowing Packet) throws {
        if context.pointee.codec_id == AV_CODEC_ID_WAVPACK, context.pointee.bits_per_raw_sample > 24 {
            let isMisjudged = WavPackBlock.sharesLowBits(packet)
            context.pointee.err_recognition = isMisjudged ? AV_EF_EXPLODE : AV_EF_CRCCHECK | AV_EF_EXPLODE
        }
        if context.pointee.codec_id == AV_CODEC_ID_WAVPACK,
            let (place, bytes) = packet.withBytes(WavPackBlock.naming)
        {
            packet.replaceBytes(at: place, with: bytes)
        }
        if context.pointee.codec_id == AV_CODEC_ID_MP1, packet.withBytes(LayerIChecksum.isRight) == false {
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
        if Decoder.inventsLayout(context.pointee.codec_id, block.channelCount) { block.forgetPositions() }
        // The MPEG audio decoders label a frame with the sample rate of the frame before it.
        if isMPEGAudio { block.pointer.pointee.sample_rate = context.pointee.sample_rate }
        guard let side = av_frame_get_side_data(block.pointer, AV_FRAME_DATA_SKIP_SAMPLES), side.pointee.size >= 10
        else { return (.filled, (0, 0)) }
        let data = side.pointee.data!
        func word(_ offset: Int) -> Int { (0..<4).reduce(0) { $0 | Int(data[offset + $1]) << (8 * $1) } }
        let skip = (start: word(0), end: word(4))
        // The first packet only fills the decoder's window. For it, libav 7.1 gives a block that it marks to be dropped,
        // and libav 5.1 gives none.
        if context.pointee.codec_id == AV_CODEC_ID_VORBIS, skip.start > 0, skip.start == block.frameCount {
            return try receive(into: &block)
        }
        return (.filled, skip)
    }

    private var isMPEGAudio: Bool {
        let id = context.pointee.codec_id
        return id == AV_CODEC_ID_MP3 || id == AV_CODEC_ID_MP2 || id == AV_CODEC_ID_MP1
    }

    /// Whether libav's decoder invents a channel layout that the format does not state.
    /// TTA states only a channel count.
    static func inventsLayout(_ codec: AVCodecID, _ channelCount: Int) -> Bool {
        codec == AV_CODEC_ID_TTA && channelCount > 2
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
