import CLibAV

/// Corrects the codec of PCM whose header gives each sample more bytes than its valid bits need.
///
/// libav takes the codec from the valid bits. Where they do not fill the bytes, it would read the bytes of one sample as
/// several.
struct PCMWidth {
    /// Whether the header says that the samples are integers. libav takes 24 valid bits in four bytes for floating point.
    var marksIntegers = false
    /// The bytes of a sample that the header states, where libav does not know them; otherwise `nil`.
    var bytes: Int?

    private static let wide = [AV_CODEC_ID_PCM_S16LE, AV_CODEC_ID_PCM_S24LE, AV_CODEC_ID_PCM_S32LE]

    func correct(_ stream: InputStream) {
        let (codec, channels, align) = (
            stream.pointer.pointee.codecpar.pointee.codec_id, stream.channelCount, stream.blockAlign
        )
        guard channels > 0, align > 0, align % channels == 0 || bytes != nil else { return }
        let isUnsigned = codec == AV_CODEC_ID_PCM_U8
        guard
            isUnsigned || codec == AV_CODEC_ID_PCM_S8 || Self.wide.contains(codec)
                || codec == AV_CODEC_ID_PCM_F24LE && marksIntegers
        else { return }
        let whole: AVCodecID
        let bytes = bytes ?? align / channels
        switch bytes {
        case 1: whole = isUnsigned ? codec : AV_CODEC_ID_PCM_S8
        case 2...4: whole = Self.wide[bytes - 2]
        default: return
        }
        stream.pointer.pointee.codecpar.pointee.codec_id = whole
        stream.pointer.pointee.codecpar.pointee.block_align = Int32(bytes * channels)
    }
}
