/// ADPCM in blocks that begin anew.
struct BlockADPCMCodec: CodecRules {
    let names = ["adpcm_ima_wav", "adpcm_ms"]
    let packets = CodecTraits(preroll: 0)
    let leavesSpeakersToContainer = true

    func length(of stream: InputStream) -> PacketLength.Rule { .bySize(stream) }
}

/// QuickTime's ADPCM, whose blocks depend on those before them.
struct QuickTimeADPCMCodec: CodecRules {
    let names = ["adpcm_ima_qt"]
    let leavesSpeakersToContainer = true

    func length(of stream: InputStream) -> PacketLength.Rule { .bySize(stream) }
}

/// The ADPCM of Flash, in packets that begin anew.
struct SWFADPCMCodec: CodecRules {
    let names = ["adpcm_swf"]
    let packets = CodecTraits(preroll: 0)
}

/// G.722, whose predictors' past fades in two seconds.
struct G722Codec: CodecRules {
    let names = ["adpcm_g722"]
    let packets = CodecTraits(preroll: 2 * 16_000)
}

/// G.726, whose predictors' past fades in two seconds.
struct G726Codec: CodecRules {
    let names = ["adpcm_g726"]
    let packets = CodecTraits(preroll: 2 * 8_000)
}

extension PacketLength.Rule {
    /// For codecs in which the bytes of a packet show its frames, which libav knows.
    static func bySize(_ stream: InputStream) -> Self { .implied { stream.frames(inPacketOf: $0.count) } }
}
