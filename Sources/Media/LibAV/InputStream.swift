import CLibAV
import Conversion
import Glibc

/// One stream of an open container. It is valid for as long as its demuxer lives.
struct InputStream {
    let pointer: UnsafeMutablePointer<AVStream>

    var index: Int { Int(pointer.pointee.index) }
    /// The container's own number for the stream.
    var containerID: Int { Int(pointer.pointee.id) }
    private var parameters: AVCodecParameters { pointer.pointee.codecpar.pointee }

    var isAudio: Bool { parameters.codec_type == AVMEDIA_TYPE_AUDIO }
    /// Whether the container does not state the stream's type.
    var isUnknown: Bool { parameters.codec_type == AVMEDIA_TYPE_UNKNOWN }
    var isData: Bool { parameters.codec_type == AVMEDIA_TYPE_DATA }
    var isVideo: Bool { parameters.codec_type == AVMEDIA_TYPE_VIDEO }
    var isAttachment: Bool { parameters.codec_type == AVMEDIA_TYPE_ATTACHMENT }
    var isSubtitle: Bool { parameters.codec_type == AVMEDIA_TYPE_SUBTITLE }
    var isCover: Bool { pointer.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC != 0 }
    /// Whether its pictures belong to chapters. libav takes the first of them for a cover, too.
    var isOfChapters: Bool { pointer.pointee.disposition & AV_DISPOSITION_TIMED_THUMBNAILS != 0 }
    var codecName: String { CodecRegistry.name(parameters.codec_id) }
    /// The allowed decoder for the codec; `nil` if there is none.
    var decoder: UnsafePointer<AVCodec>? { Allowlist.decoder(of: parameters.codec_id) }
    var isDefault: Bool { pointer.pointee.disposition & AV_DISPOSITION_DEFAULT != 0 }
    var tags: [(String, String)] { pairs(of: pointer.pointee.metadata) }

    /// The container's four-character code for the codec, as stored in the file.
    var fourCC: String {
        String(
            (0..<4).map {
                Character(UnicodeScalar(UInt8(truncatingIfNeeded: parameters.codec_tag >> (8 * UInt32($0)))))
            }
        )
    }

    var sampleRateHz: Int { Int(parameters.sample_rate) }
    var channelCount: Int { Int(parameters.ch_layout.nb_channels) }
    var channelMask: UInt64 {
        codec.decoding.inventsLayout(channelCount) ? 0 : parameters.ch_layout.waveMask
    }
    var bitRate: Int? { (1...Plausible.bitRate).contains(parameters.bit_rate) ? Int(parameters.bit_rate) : nil }
    var frameSize: Int { Int(parameters.frame_size) }
    var blockAlign: Int { Int(parameters.block_align) }
    var pcmBytesPerFrame: Int { Int(av_get_exact_bits_per_sample(parameters.codec_id)) / 8 * channelCount }
    /// Priming frames that decoding yields before the sound; `nil` if neither codec nor container states them.
    var codecDelay: Int? { parameters.initial_padding > 0 ? Int(parameters.initial_padding) : nil }
    var startsAtZero: Bool { pointer.pointee.start_time == 0 }
    /// The codec's header as the container stores it.
    var extradata: [UInt8] {
        guard let data = parameters.extradata else { return [] }
        return Array(UnsafeBufferPointer(start: data, count: Int(parameters.extradata_size)))
    }

    /// Lends the same bytes without copying them; they must not leave the closure.
    func withCodecHeader<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let (data, count) = (parameters.extradata, Int(parameters.extradata_size))
        return body(UnsafeRawBufferPointer(start: data, count: data == nil ? 0 : count))
    }

    /// The bits that one sample takes in the stream; zero if they are not always the same.
    var bitsPerStoredSample: Int { Int(av_get_bits_per_sample(parameters.codec_id)) }

    /// Replaces the codec that the demuxer took from the header.
    func setCodec(_ name: String) {
        guard let descriptor = avcodec_descriptor_get_by_name(name) else { return }
        pointer.pointee.codecpar.pointee.codec_id = descriptor.pointee.id
    }

    /// Replaces the bytes of a frame of PCM that the demuxer took from the header.
    func setBlockAlign(_ bytes: Int) { pointer.pointee.codecpar.pointee.block_align = Int32(bytes) }

    /// Replaces the channels that the demuxer took from the header. A mask of zero names no speakers.
    func setChannels(_ count: Int, mask: UInt64) throws {
        _ = try withChannelLayout(mask: mask, count: count) { layout in
            try check(
                av_channel_layout_copy(&pointer.pointee.codecpar.pointee.ch_layout, &layout),
                "av_channel_layout_copy"
            )
        }
    }

    /// The frames in a packet of `count` bytes; `nil` if libav does not know.
    func frames(inPacketOf count: Int) -> Int? {
        let frames = av_get_audio_frame_duration2(pointer.pointee.codecpar, Int32(count))
        return frames > 0 ? Int(frames) : nil
    }

    /// Significant bits per sample; 16 if the codec has no bit depth, and 24 for one-bit sound, whose noise is lower below
    /// 20 kHz than that of 16 bits.
    var bitDepth: Int {
        if codec.isOneBit { return 24 }
        if parameters.bits_per_raw_sample > 0 { return Int(parameters.bits_per_raw_sample) }
        let exact = Int(av_get_exact_bits_per_sample(parameters.codec_id))
        if exact > 0 { return exact }
        if parameters.bits_per_coded_sample > 0, isLossless { return Int(parameters.bits_per_coded_sample) }
        return 16
    }

    var sampleFormat: SampleFormat? { SampleFormat(code: AVSampleFormat(parameters.format)) }

    /// Whether decoding returns exactly the samples that were encoded.
    var isLossless: Bool {
        guard let descriptor = avcodec_descriptor_get(parameters.codec_id)?.pointee else { return false }
        return descriptor.props & AV_CODEC_PROP_LOSSLESS != 0 && descriptor.props & AV_CODEC_PROP_LOSSY == 0
            && !codec.isCompanded
    }

    var isDescribedPCM: Bool { isPCM && sampleRateHz > 0 && channelCount > 0 }

    /// The length that the container states, in ticks of the stream's time base.
    var duration: Int64? { Plausible.ticks(pointer.pointee.duration) }

    /// Converts `ticks` of the time base to frames at `rate`. `nil` if that is not a whole number of frames, or
    /// more than a track can have.
    func exactFrames(_ ticks: Int64, rate: Int) -> Int64? {
        let base = pointer.pointee.time_base
        guard base.den > 0 else { return nil }
        let (product, overflow) = ticks.multipliedReportingOverflow(by: Int64(base.num) * Int64(rate))
        guard !overflow, product % Int64(base.den) == 0 else { return nil }
        let frames = product / Int64(base.den)
        return frames == Plausible.boundedFrames(frames) ? frames : nil
    }

    /// Converts `ticks` of the time base to the nearest number of frames at `rate`, limited to what a track can have.
    func nearestFrames(_ ticks: Int64, rate: Int) -> Int64 {
        let base = pointer.pointee.time_base
        guard base.num > 0, base.den > 0 else { return 0 }
        let (product, divisor) = (Int128(ticks) * Int128(base.num) * Int128(rate), Int128(base.den))
        let frames = (product.magnitude + divisor.magnitude / 2) / divisor.magnitude
        return Plausible.boundedFrames(Int64(clamping: ticks < 0 ? -Int128(frames) : Int128(frames)))
    }

    /// Converts `frames` at `rate` to ticks of the time base; `nil` if that is not a whole number of ticks.
    func ticks(exactly frames: Int64, rate: Int) -> Int64? {
        let base = pointer.pointee.time_base
        guard base.num > 0, rate > 0 else { return nil }
        let (product, overflow) = frames.multipliedReportingOverflow(by: Int64(base.den))
        guard !overflow, product % (Int64(base.num) * Int64(rate)) == 0 else { return nil }
        return product / (Int64(base.num) * Int64(rate))
    }

    /// Converts `frames` at `rate` to the nearest number of ticks of the time base, as libav does.
    func ticks(near frames: Int64, rate: Int) -> Int64 {
        av_rescale_q(frames, AVRational(num: 1, den: Int32(rate)), pointer.pointee.time_base)
    }

    /// The bytes of a cover stream's picture, as stored in the file.
    var attachedPicture: [UInt8]? {
        let picture = pointer.pointee.attached_pic
        guard isCover, let data = picture.data, picture.size > 0 else { return nil }
        return Array(UnsafeBufferPointer(start: data, count: Int(picture.size)))
    }
}
