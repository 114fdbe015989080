/// Finds the rules of a codec.
enum CodecRegistry {
    /// The rules for the codec that libav calls `name`.
    static func rules(of name: String) -> any CodecRules {
        rules[name] ?? (name.hasPrefix(PCMCodec.prefix) ? PCMCodec() : OrdinaryCodec())
    }

    /// Whether `name` stands for a codec that libav does not know.
    static func isUnknown(_ name: String) -> Bool { name == "none" }

    /// The rules for each codec that differs from an ordinary one.
    private static let all: [any CodecRules] = [
        AACCodec(isInLATM: false), AACCodec(isInLATM: true), AC3Codec(), ALACCodec(), AMRCodec(isWide: false),
        AMRCodec(isWide: true), BlockADPCMCodec(), CompandedPCMCodec(), DSDCodec(), DTSCodec(), EAC3Codec(),
        FLACCodec(), G722Codec(), G726Codec(), GSMCodec(), MLPCodec(), MPEGAudioCodec(layer: 1),
        MPEGAudioCodec(layer: 2), MPEGAudioCodec(layer: 3), OpusCodec(), QCELPCodec(), QuickTimeADPCMCodec(),
        SWFADPCMCodec(), SpeexCodec(), TTACodec(), VorbisCodec(), WMACodec(), WavPackCodec(),
    ]

    private static let rules: [String: any CodecRules] = Dictionary(
        uniqueKeysWithValues: all.flatMap { rules in rules.names.map { ($0, rules) } }
    )

    /// All names that have rules.
    static var names: [String] { rules.keys.sorted() }
}

extension InputStream {
    /// Whether the codec is PCM.
    var isPCM: Bool { codecName.hasPrefix(PCMCodec.prefix) }

    /// What is special about the codec. Ask for it once for a stream.
    var codec: any CodecRules { CodecRegistry.rules(of: codecName) }
}

extension Track {
    /// What is special about the codec. Ask for it once for a track.
    var codec: any CodecRules { CodecRegistry.rules(of: codecName) }
}
