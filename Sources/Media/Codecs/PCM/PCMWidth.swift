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

    private static let (unsigned, signed) = ("pcm_u8", "pcm_s8")
    private static let wide = ["pcm_s16le", "pcm_s24le", "pcm_s32le"]
    private static let float24 = "pcm_f24le"

    /// The same samples with the most significant byte first. Others have no such form.
    private static let turned = [
        "pcm_s16le": "pcm_s16be", "pcm_s24le": "pcm_s24be", "pcm_s32le": "pcm_s32be", "pcm_f32le": "pcm_f32be",
        "pcm_f64le": "pcm_f64be", "pcm_u8": "pcm_u8", "pcm_s8": "pcm_s8", "pcm_mulaw": "pcm_mulaw",
        "pcm_alaw": "pcm_alaw",
    ]

    /// Throws `unsupported_codec` if it is unclear what the samples are.
    func correct(_ stream: InputStream) throws {
        try correctWidth(stream)
        guard isBigEndian, stream.isAudio else { return }
        guard let turned = Self.turned[stream.codecName] else {
            let detail = "the codec \(stream.codecName) is not supported in RIFX"
            throw MediaError(.unsupportedCodec, at: .probe, detail, stream: stream.index)
        }
        stream.setCodec(turned)
    }

    private func correctWidth(_ stream: InputStream) throws {
        let (codec, channels, align) = (stream.codecName, stream.channelCount, stream.blockAlign)
        guard stream.isPCM, channels > 0, align > 0, align % channels == 0 || bytes != nil else { return }
        let bytes = bytes ?? align / channels
        if isUnclear {
            let bits = stream.bitsPerStoredSample
            guard bits > 0, bytes * 8 != bits else { return }
            let detail = "its header gives samples of \(bits) bits \(bytes) bytes, and does not say which of them count"
            throw MediaError(.unsupportedCodec, at: .probe, detail, stream: stream.index)
        }
        let isUnsigned = codec == Self.unsigned
        let isInteger = isUnsigned || codec == Self.signed || Self.wide.contains(codec)
        guard isInteger || codec == Self.float24 && marksIntegers else { return }
        let whole: String
        switch bytes {
        case 1: whole = isUnsigned ? codec : Self.signed
        case 2...4: whole = Self.wide[bytes - 2]
        default: return
        }
        if whole != codec { stream.setCodec(whole) }
        stream.setBlockAlign(bytes * channels)
    }
}
