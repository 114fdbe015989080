import Conversion

/// Finds the rules of a container.
enum ContainerRegistry {
    /// The rules for a source that libav reads with the demuxer `name`. libav lists several formats in one name if one
    /// demuxer reads them all.
    static func rules(demuxer name: String) -> any SourceRules { sources[name] ?? OrdinaryContainer() }

    /// The demuxer for a source that begins with `head` and that libav does not recognise; `nil` if there is none.
    static func demuxer(recognising head: [UInt8]) -> String? { sources.first { $0.value.recognises(head) }?.key }

    /// The demuxer for a source that begins with `start`, where libav need not be asked; `nil` if it must be.
    static func demuxer(certainFor start: [UInt8]) -> String? { sources.first { $0.value.isCertain(start) }?.key }

    /// The rules for each demuxer that differs from an ordinary one.
    static let sources: [String: any SourceRules] = [
        "mov,mp4,m4a,3gp,3g2,mj2": MP4(),
        "matroska,webm": Matroska(),
        "ogg": Ogg(),
        "flac": FLAC(),
        "wav": WAV(),
        "w64": W64(),
        "aiff": AIFF(),
        "caf": CAF(),
        "au": AU(),
        "mp3": MP3(),
        "aac": ADTS(),
        "ac3": AC3(),
        "eac3": AC3(),
        "dts": DTS(),
        "truehd": MLP(),
        "mlp": MLP(),
        "asf": ASF(),
        "avi": AVI(),
        "flv": FLV(),
        "rm": RealMedia(),
        "mpegts": MPEGTransportStream(),
        "mpeg": MPEGProgramStream(),
        "wv": WavPack(),
        "tta": TTA(),
        "ape": MonkeysAudio(),
        "mpc": Musepack(isVersion8: false),
        "mpc8": Musepack(isVersion8: true),
        "dsf": DSF(),
        "iff": DSDIFF(),
        "nistsphere": Sphere(),
        "sox": SoX(),
        "voc": VOC(),
        "qcp": QCP(),
        "mmf": SMAF(),
    ]

    /// The rules for an output.
    static func rules(writing container: Container) -> any OutputRules {
        switch container {
        case .wav: WAV()
        case .w64: W64()
        case .aiff, .aifc: AIFF()
        case .caf: CAF()
        case .au: AU()
        case .raw: RawPCM()
        case .flac: FLAC()
        case .m4a, .mp4: MP4()
        case .adts: ADTS()
        case .mp3: MP3()
        case .ogg: Ogg()
        case .webm: Matroska(isWebM: true)
        case .mka: Matroska()
        case .wavpack: WavPack()
        }
    }
}
