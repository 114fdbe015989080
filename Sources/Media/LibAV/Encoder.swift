import CLibAV
import Conversion
import Glibc

/// A single-threaded libav audio encoder.
struct Encoder: ~Copyable {
    let context: UnsafeMutablePointer<AVCodecContext>
    /// The shape that every block sent to it must have.
    let shape: SampleShape

    /// Whether it is a perceptual encoder that takes floats, and so needs samples small enough to be squared.
    let wantsBoundedFloats: Bool

    /// Takes ownership of `context`; no other code may free it.
    private init(
        adopting context: UnsafeMutablePointer<AVCodecContext>,
        _ shape: SampleShape,
        wantsBoundedFloats: Bool
    ) {
        self.context = context
        self.shape = shape
        self.wantsBoundedFloats = wantsBoundedFloats
    }

    deinit {
        var doomed: UnsafeMutablePointer<AVCodecContext>? = context
        avcodec_free_context(&doomed)
    }

    /// Opens the encoder for `format`.
    ///
    /// `source` is the shape of the input. Where possible, the encoder's sample format matches
    /// it, so samples pass unchanged.
    static func open(_ format: ResolvedFormat, source: SampleShape, globalHeader: Bool) throws -> Encoder {
        let name = encoderName(format)
        guard let codec = avcodec_find_encoder_by_name(name) else {
            throw LibAVError("avcodec_find_encoder_by_name", SLUICE_AVERROR_ENCODER_NOT_FOUND)
        }
        let context = try allocated(avcodec_alloc_context3(codec), "avcodec_alloc_context3")
        let sampleFormat = sampleFormat(of: codec, for: format, source: source)
        let shape = SampleShape(
            format: sampleFormat,
            sampleRateHz: format.sampleRateHz,
            channelCount: format.channelCount,
            channelMask: format.encodedLayout.mask
        )
        let wantsBoundedFloats = !format.isLossless && sampleFormat.interleaved == .f32
        let encoder = Encoder(adopting: context, shape, wantsBoundedFloats: wantsBoundedFloats)
        context.pointee.sample_fmt = sampleFormat.code
        context.pointee.sample_rate = Int32(format.sampleRateHz)
        context.pointee.time_base = AVRational(num: 1, den: Int32(format.sampleRateHz))
        try withChannelLayout(mask: shape.channelMask, count: shape.channelCount) { layout in
            _ = try check(av_channel_layout_copy(&context.pointee.ch_layout, &layout), "av_channel_layout_copy")
        }
        if let tag = format.rules.codecTag(format) { context.pointee.codec_tag = tag }
        context.pointee.thread_count = 1
        // No version strings and no random numbers: the same samples give the same bytes.
        context.pointee.flags |= AV_CODEC_FLAG_BITEXACT
        if globalHeader { context.pointee.flags |= AV_CODEC_FLAG_GLOBAL_HEADER }
        if format.isLossless, format.sampleKind == .integer {
            context.pointee.bits_per_raw_sample = Int32(format.bitDepth)
        }
        if let bitRate = format.bitRate { context.pointee.bit_rate = Int64(bitRate) }
        if let quality = format.quality {
            context.pointee.flags |= AV_CODEC_FLAG_QSCALE
            context.pointee.global_quality = Int32((quality * Double(FF_QP2LAMBDA)).rounded())
        }
        try check(avcodec_open2(context, codec, nil), "avcodec_open2")
        return encoder
    }

    /// The channel order that the encoder expects; `nil` for the layout's own order.
    var channelOrder: [Int]? { rules.encoderOrder(ofChannels: shape.channelCount) }

    private var rules: any CodecRules { CodecRegistry.rules(context.pointee.codec_id) }

    /// The number of upper bits of each sample that the encoder keeps.
    var keptBits: Int {
        let bits = Int(context.pointee.bits_per_raw_sample)
        return bits > 0 ? bits : 32
    }

    /// Frames per block; zero if the encoder accepts any length.
    var frameSize: Int {
        let anyLength = context.pointee.codec.pointee.capabilities & AV_CODEC_CAP_VARIABLE_FRAME_SIZE != 0
        return anyLength ? 0 : Int(context.pointee.frame_size)
    }

    /// Whether the last block may be shorter than the others.
    var takesShortLastBlock: Bool {
        context.pointee.codec.pointee.capabilities & (AV_CODEC_CAP_SMALL_LAST_FRAME | AV_CODEC_CAP_VARIABLE_FRAME_SIZE)
            != 0
    }

    /// The fewest frames that the last block may have.
    var shortestLastBlock: Int { rules.shortestLastBlock(channels: shape.channelCount) }

    /// The encoder delay: frames that a decoder must drop at the start. Vorbis knows it only after its first packet.
    var delay: Int { Int(context.pointee.initial_padding) }

    /// Sends a block that starts at frame `position`. Call `receive` until it returns `.wantsInput`.
    func send(_ block: borrowing SampleBlock, position: Int64) throws {
        block.pointer.pointee.pts = position
        try check(avcodec_send_frame(context, block.pointer), "avcodec_send_frame")
    }

    func sendEnd() throws { try check(avcodec_send_frame(context, nil), "avcodec_send_frame") }

    /// Fills `packet` with the next encoded packet.
    func receive(into packet: inout Packet) throws -> CodecAnswer {
        let result = avcodec_receive_packet(context, packet.pointer)
        if result == -EAGAIN { return .wantsInput }
        if result == SLUICE_AVERROR_EOF { return .ended }
        try check(result, "avcodec_receive_packet")
        return .filled
    }

    // MARK: Choices

    private static func encoderName(_ format: ResolvedFormat) -> String {
        guard format.codec == .pcm else { return encoderName(of: format.codec) }
        let order = format.endianness == .big ? "be" : "le"
        if format.sampleKind == .float { return "pcm_f\(format.bitDepth)\(order)" }
        if format.bitDepth == 8 { return format.container.eightBitIsSigned ? "pcm_s8" : "pcm_u8" }
        return "pcm_s\(format.bitDepth)\(order)"
    }

    /// libav's name for the codec's encoder; for PCM, which has many, the most common one.
    private static func encoderName(of codec: Codec) -> String {
        switch codec {
        case .pcm: "pcm_s16le"
        case .ulaw: "pcm_mulaw"
        case .alaw: "pcm_alaw"
        case .mp3: "libmp3lame"
        case .vorbis: "libvorbis"
        case .opus: "libopus"
        case .flac, .alac, .aac, .wavpack, .copy: codec.rawValue
        }
    }

    /// Whether the loaded libraries can encode this codec. `.copy` needs no encoder.
    static func exists(for codec: Codec) -> Bool {
        codec == .copy || avcodec_find_encoder_by_name(encoderName(of: codec)) != nil
    }

    private static func sampleFormat(
        of codec: UnsafePointer<AVCodec>,
        for format: ResolvedFormat,
        source: SampleShape
    ) -> SampleFormat {
        var offered: [SampleFormat] = []
        if var next = sluice_sample_formats(codec) {
            while next.pointee != AV_SAMPLE_FMT_NONE {
                if let known = SampleFormat(code: next.pointee) { offered.append(known) }
                next += 1
            }
        }
        let wanted: [SampleFormat]
        if format.isLossless {
            switch (format.sampleKind, format.bitDepth) {
            case (.float, 64): wanted = [.f64, .f32]
            case (.float, _): wanted = [.f32, .f64]
            case (.integer, ...8): wanted = [.u8, .s16, .s32]
            case (.integer, ...16): wanted = [.s16, .s32]
            default: wanted = [.s32, .s64]
            }
        } else {
            let staysInteger =
                source.format.interleaved == .s16 && source.sampleRateHz == format.sampleRateHz
                && source.channelCount == format.channelCount
            wanted = staysInteger ? [.s16, .f32, .s32] : [.f32, .s32, .s16]
        }
        for choice in wanted { if let match = offered.first(where: { $0.interleaved == choice }) { return match } }
        return offered.first ?? .s16
    }
}

extension ResolvedFormat {
    /// The layout given to the encoder. A codec whose streams name speaker positions needs a standard layout.
    fileprivate var encodedLayout: ChannelLayout {
        layout.isDiscrete && codec.namesPositions ? .standard(for: channelCount) ?? layout : layout
    }
}
