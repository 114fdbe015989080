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
    var isCover: Bool { pointer.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC != 0 }
    var codecName: String { String(cString: avcodec_get_name(parameters.codec_id)) }
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
        Decoder.inventsLayout(parameters.codec_id, channelCount) ? 0 : parameters.ch_layout.waveMask
    }
    var bitRate: Int? { (1...Plausible.bitRate).contains(parameters.bit_rate) ? Int(parameters.bit_rate) : nil }
    var frameSize: Int { Int(parameters.frame_size) }
    var blockAlign: Int { Int(parameters.block_align) }
    var pcmBytesPerFrame: Int { Int(av_get_exact_bits_per_sample(parameters.codec_id)) / 8 * channelCount }
    /// Priming frames that decoding yields before the sound; `nil` if neither codec nor container states them.
    var codecDelay: Int? { parameters.initial_padding > 0 ? Int(parameters.initial_padding) : nil }
    var startsAtZero: Bool { pointer.pointee.start_time == 0 }
    var extradata: [UInt8] {
        guard let data = parameters.extradata else { return [] }
        return Array(UnsafeBufferPointer(start: data, count: Int(parameters.extradata_size)))
    }

    /// The pre-skip in the Opus header: frames at 48 kHz that decoders drop at the start.
    var opusPreSkip: Int {
        let header = extradata
        return header.count >= 12 ? Int(header[10]) | Int(header[11]) << 8 : 0
    }

    /// For Opus, the frames that decoders drop at the start; otherwise zero.
    var opusDelay: Int { parameters.codec_id == AV_CODEC_ID_OPUS ? Int(parameters.initial_padding) : 0 }

    /// Significant bits per sample; 16 if the codec has no bit depth.
    var bitDepth: Int {
        if parameters.bits_per_raw_sample > 0 { return Int(parameters.bits_per_raw_sample) }
        let exact = Int(av_get_exact_bits_per_sample(parameters.codec_id))
        if exact > 0 { return exact }
        if parameters.bits_per_coded_sample > 0, isLossless { return Int(parameters.bits_per_coded_sample) }
        return 16
    }

    var sampleFormat: SampleFormat? { SampleFormat(code: AVSampleFormat(parameters.format)) }

    var isFloat: Bool {
        switch parameters.codec_id {
        case AV_CODEC_ID_PCM_F32LE, AV_CODEC_ID_PCM_F32BE, AV_CODEC_ID_PCM_F64LE, AV_CODEC_ID_PCM_F64BE: true
        case AV_CODEC_ID_WAVPACK: sampleFormat?.kind == .float
        default: false
        }
    }

    /// Whether decoding returns exactly the samples that were encoded.
    var isLossless: Bool {
        guard let descriptor = avcodec_descriptor_get(parameters.codec_id)?.pointee else { return false }
        let companded = [AV_CODEC_ID_PCM_MULAW, AV_CODEC_ID_PCM_ALAW].contains(parameters.codec_id)
        return descriptor.props & AV_CODEC_PROP_LOSSLESS != 0 && descriptor.props & AV_CODEC_PROP_LOSSY == 0
            && !companded
    }

    var isPCM: Bool {
        parameters.codec_id.rawValue >= AV_CODEC_ID_PCM_S16LE.rawValue
            && parameters.codec_id.rawValue < AV_CODEC_ID_ADPCM_IMA_QT.rawValue
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

    /// The time of the last packet in libav's index that begins at or before `last`.
    ///
    /// `nil` unless a packet begins exactly at `first`, the times from there on rise, no packet after it is marked
    /// for discarding, and, if `step` is given, every packet lasts that long.
    func indexedTime(from first: Int64, upTo last: Int64, inStepsOf step: Int64?) -> Int64? {
        let from = av_index_search_timestamp(pointer, first, AVSEEK_FLAG_BACKWARD)
        let to = av_index_search_timestamp(pointer, last, AVSEEK_FLAG_BACKWARD)
        guard from >= 0, to > from, var entry = avformat_index_get_entry(pointer, from)?.pointee,
            entry.timestamp == first
        else { return nil }
        for number in (from + 1)...to {
            guard let next = avformat_index_get_entry(pointer, number)?.pointee, next.timestamp > entry.timestamp,
                next.flags & AVINDEX_DISCARD_FRAME == 0, step == nil || next.timestamp - entry.timestamp == step
            else { return nil }
            entry = next
        }
        return entry.timestamp
    }

    /// Where the first packet in libav's index lies; `nil` if there is none.
    var firstIndexedPlace: Int64? { avformat_index_get_entry(pointer, 0)?.pointee.pos }

    /// The number of entries in libav's index, each of which costs memory.
    var indexEntries: Int { Int(avformat_index_get_entries_count(pointer)) }

    /// Whether the first packet in the container's index carries libfaac's name.
    func beginsWithFAACMark(_ source: ByteSource) -> Bool {
        guard parameters.codec_id == AV_CODEC_ID_AAC, let entry = avformat_index_get_entry(pointer, 0)?.pointee,
            let bytes = source.bytes(at: entry.pos, count: min(Int(entry.size), FAACMark.reach))
        else { return false }
        return FAACMark.begins(bytes)
    }

    /// Frames in every block of a FLAC stream but the last; `nil` for other codecs and if block sizes vary.
    var flacBlockFrames: Int? {
        guard parameters.codec_id == AV_CODEC_ID_FLAC, let data = parameters.extradata,
            parameters.extradata_size >= 34, data[0] == data[2], data[1] == data[3]
        else { return nil }
        return Int(data[0]) << 8 | Int(data[1])
    }

    /// The total number of frames in the FLAC header; `nil` for other codecs and if the header does not state it.
    var flacTotalFrames: Int64? {
        let header = extradata
        guard parameters.codec_id == AV_CODEC_ID_FLAC, header.count >= 34 else { return nil }
        let total = bigEndian([header[13] & 0x0F] + header[14..<18])
        return total > 0 ? total : nil
    }

    /// The bytes of a cover stream's picture, as stored in the file.
    var attachedPicture: [UInt8]? {
        let picture = pointer.pointee.attached_pic
        guard isCover, let data = picture.data, picture.size > 0 else { return nil }
        return Array(UnsafeBufferPointer(start: data, count: Int(picture.size)))
    }
}
