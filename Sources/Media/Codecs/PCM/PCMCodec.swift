import Conversion

/// PCM: samples of one size, in any number of kinds.
struct PCMCodec: CodecRules {
    /// Begins libav's name of every kind.
    static let prefix = "pcm_"

    let names: [String] = []
    let packets = CodecTraits(preroll: 0, isPCM: true)
    let leavesSpeakersToContainer = true

    func length(of stream: InputStream) -> PacketLength.Rule { .ofSamples(stream) }

    func isFloat(_ stream: InputStream) -> Bool {
        ["pcm_f32le", "pcm_f32be", "pcm_f64le", "pcm_f64be"].contains(stream.codecName)
    }

    func native(_ format: ResolvedFormat, to name: String) -> ResolvedFormat? {
        var native = format
        native.codec = .pcm
        native.bitDepth = Int(name.dropFirst(Self.prefix.count + 1).prefix { $0.isNumber }) ?? format.bitDepth
        return native
    }
}

/// G.711: samples of 8 bits with a logarithmic scale.
struct CompandedPCMCodec: CodecRules {
    private static let mulaw = "pcm_mulaw"

    let names = [Self.mulaw, "pcm_alaw"]
    let packets = CodecTraits(preroll: 0, isPCM: true)
    let isCompanded = true
    let leavesSpeakersToContainer = true

    func length(of stream: InputStream) -> PacketLength.Rule { .ofSamples(stream) }

    func native(_ format: ResolvedFormat, to name: String) -> ResolvedFormat? {
        var native = format
        native.codec = name == Self.mulaw ? .ulaw : .alaw
        return native
    }
}

extension PacketLength.Rule {
    /// For samples of one size.
    fileprivate static func ofSamples(_ stream: InputStream) -> Self {
        .implied { bytes in
            let bits = stream.bitsPerStoredSample * stream.channelCount
            return bits > 0 && bytes.count * 8 % bits == 0 ? bytes.count * 8 / bits : nil
        }
    }
}
