import CLibAV
import Conversion

/// Corrects the codec of PCM whose header gives each sample more bytes than its valid bits need.
///
/// libav takes the codec from the valid bits. Where they do not fill the bytes, it would read the bytes of one sample as
/// several.
struct PCMWidth {
    /// Whether the header says that the samples are integers. libav takes 24 valid bits in four bytes for floating point.
    var marksIntegers = false
    /// The bytes of a sample that the header states, where libav does not know them; otherwise `nil`.
    var bytes: Int?
    /// Whether the most significant byte of a sample comes first, which libav does not know.
    var isBigEndian = false
    /// Whether the container does not say which of a sample's bytes count.
    var isUnclear = false

    private static let wide = [AV_CODEC_ID_PCM_S16LE, AV_CODEC_ID_PCM_S24LE, AV_CODEC_ID_PCM_S32LE]

    /// The same samples with the most significant byte first; `nil` for codecs that have no such form.
    private static func turned(_ codec: AVCodecID) -> AVCodecID? {
        switch codec {
        case AV_CODEC_ID_PCM_S16LE: AV_CODEC_ID_PCM_S16BE
        case AV_CODEC_ID_PCM_S24LE: AV_CODEC_ID_PCM_S24BE
        case AV_CODEC_ID_PCM_S32LE: AV_CODEC_ID_PCM_S32BE
        case AV_CODEC_ID_PCM_F32LE: AV_CODEC_ID_PCM_F32BE
        case AV_CODEC_ID_PCM_F64LE: AV_CODEC_ID_PCM_F64BE
        case AV_CODEC_ID_PCM_U8, AV_CODEC_ID_PCM_S8, AV_CODEC_ID_PCM_MULAW, AV_CODEC_ID_PCM_ALAW: codec
        default: nil
        }
    }

    /// Throws `unsupported_codec` if it is unclear what the samples are.
    func correct(_ stream: InputStream) throws {
        try correctWidth(stream)
        guard isBigEndian, stream.isAudio else { return }
        guard let turned = Self.turned(stream.pointer.pointee.codecpar.pointee.codec_id) else {
            let detail = "the codec \(stream.codecName) is not supported in RIFX"
            throw MediaError(.unsupportedCodec, at: .probe, detail, stream: stream.index)
        }
        stream.pointer.pointee.codecpar.pointee.codec_id = turned
    }

    private func correctWidth(_ stream: InputStream) throws {
        let (codec, channels, align) = (
            stream.pointer.pointee.codecpar.pointee.codec_id, stream.channelCount, stream.blockAlign
        )
        guard stream.isPCM, channels > 0, align > 0, align % channels == 0 || bytes != nil else { return }
        let bytes = bytes ?? align / channels
        if isUnclear {
            let bits = Int(av_get_bits_per_sample(codec))
            guard bits > 0, bytes * 8 != bits else { return }
            let detail = "its header gives samples of \(bits) bits \(bytes) bytes, and does not say which of them count"
            throw MediaError(.unsupportedCodec, at: .probe, detail, stream: stream.index)
        }
        let isUnsigned = codec == AV_CODEC_ID_PCM_U8
        guard
            isUnsigned || codec == AV_CODEC_ID_PCM_S8 || Self.wide.contains(codec)
                || codec == AV_CODEC_ID_PCM_F24LE && marksIntegers
        else { return }
        let whole: AVCodecID
        switch bytes {
        case 1: whole = isUnsigned ? codec : AV_CODEC_ID_PCM_S8
        case 2...4: whole = Self.wide[bytes - 2]
        default: return
        }
        stream.pointer.pointee.codecpar.pointee.codec_id = whole
        stream.pointer.pointee.codecpar.pointee.block_align = Int32(bytes * channels)
    }
}
