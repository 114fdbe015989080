/// A word for files that a worker may read: libav's demuxers and decoders for them. No other demuxer or decoder can be
/// reached, and an operator may permit fewer.
public enum SourceFormat: String, Sendable, Hashable, Codable, CaseIterable {
    case wav, aiff, caf, au, raw, flac, mp3, mp2, aac, m4a, vorbis, opus, speex, matroska, wavpack, mpegts, wma, ape
    case musepack, tta, dsd, amr, ac3, dts, mlp, gsm, adpcm, avi, flash, voc, mpeg, sphere, ircam, sox, svx, mmf, qcp
    case g729, real, atrac, mace

    /// libav's names of its demuxers.
    public var demuxers: [String] { parts.demuxers }

    /// libav's names of its decoders.
    public var decoders: [String] { parts.decoders }

    /// Why it is read unless an operator leaves it out.
    public var reason: String {
        switch self {
        case .wav, .aiff, .caf, .au, .raw: "recordings; nothing is decoded, and the header is short"
        case .flac, .m4a, .wavpack, .ape, .tta: "archives and collections of music"
        case .mp3, .aac, .vorbis, .opus: "podcasts, downloads and voice messages"
        case .mp2: "radio stations, and sound of discs"
        case .speex, .amr, .gsm, .qcp, .g729, .adpcm: "recordings of telephones and conferences"
        case .matroska, .mpegts, .mpeg, .avi, .flash: "the sound of films and broadcasts"
        case .ac3, .dts, .mlp: "discs and films"
        case .dsd: "discs and downloads of high resolution"
        case .sphere, .ircam, .sox: "corpora of speech and research"
        case .wma, .musepack: "collections of music of the 2000s"
        case .voc, .svx, .mmf, .mace, .atrac, .real: "old recordings in archives, which nothing else may open any more"
        }
    }

    /// The word for the formats any of which permits a demuxer, by libav's name: `vorbis|opus|speex`; `nil` if none does.
    public static func word(forDemuxer name: String) -> String? { word { $0.demuxers.contains(name) } }

    /// The word for the formats any of which permits a decoder, by libav's name.
    public static func word(forDecoder name: String) -> String? { word { $0.decoders.contains(name) } }

    private static func word(_ permits: (SourceFormat) -> Bool) -> String? {
        let formats = allCases.filter(permits).map(\.rawValue)
        return formats.isEmpty ? nil : formats.joined(separator: "|")
    }

    private static let pcm = [
        "pcm_u8", "pcm_s8", "pcm_s16le", "pcm_s16be", "pcm_s24le", "pcm_s24be", "pcm_s32le", "pcm_s32be", "pcm_f32le",
        "pcm_f32be", "pcm_f64le", "pcm_f64be", "pcm_mulaw", "pcm_alaw", "pcm_u16le", "pcm_u16be", "pcm_u24le",
        "pcm_u24be", "pcm_u32le", "pcm_u32be", "pcm_s16le_planar", "pcm_s8_planar", "pcm_lxf",
    ]

    private var parts: (demuxers: [String], decoders: [String]) {
        switch self {
        case .wav: (["wav", "w64"], Self.pcm)
        case .aiff: (["aiff"], Self.pcm)
        case .caf: (["caf"], Self.pcm)
        case .au: (["au"], Self.pcm)
        case .raw:
            // Headerless PCM: opened by name only, never found by probing.
            (
                [
                    "u8", "s8", "s16le", "s16be", "s24le", "s24be", "s32le", "s32be", "f32le", "f32be", "f64le",
                    "f64be", "mulaw", "alaw",
                ], Self.pcm
            )
        case .flac: (["flac"], ["flac"])
        case .mp3: (["mp3"], ["mp3float"])
        case .mp2: (["mp3"], ["mp2float", "mp1float"])
        case .aac: (["aac"], ["aac", "aac_latm"])
        case .m4a: (["mov,mp4,m4a,3gp,3g2,mj2"], ["aac", "alac"])
        case .vorbis: (["ogg"], ["vorbis"])
        case .opus: (["ogg"], ["opus"])
        case .speex: (["ogg"], ["libspeex"])
        case .matroska: (["matroska,webm"], [])
        case .wavpack: (["wv"], ["wavpack"])
        case .mpegts: (["mpegts"], [])
        case .wma: (["asf"], ["wmav1", "wmav2", "wmapro", "wmalossless", "wmavoice"])
        case .ape: (["ape"], ["ape"])
        case .musepack: (["mpc", "mpc8"], ["mpc7", "mpc8"])
        case .tta: (["tta"], ["tta"])
        case .dsd: (["dsf", "iff"], ["dsd_lsbf", "dsd_msbf", "dsd_lsbf_planar", "dsd_msbf_planar"])
        case .amr: (["amr", "amrnb", "amrwb"], ["amrnb", "amrwb"])
        case .ac3: (["ac3", "eac3"], ["ac3", "eac3"])
        case .dts: (["dts"], ["dca"])
        case .mlp: (["truehd", "mlp"], ["truehd", "mlp"])
        case .gsm: (["gsm"], ["gsm", "gsm_ms"])
        case .adpcm: ([], ["adpcm_ima_wav", "adpcm_ms", "adpcm_ima_qt", "adpcm_yamaha", "g722", "g726"])
        case .avi: (["avi"], [])
        case .flash: (["flv"], ["adpcm_swf", "nellymoser"])
        case .voc: (["voc"], [])
        case .mpeg: (["mpeg"], ["pcm_dvd", "pcm_bluray"])
        case .sphere: (["nistsphere"], Self.pcm)
        case .ircam: (["ircam"], Self.pcm)
        case .sox: (["sox"], Self.pcm)
        case .svx: (["iff"], Self.pcm)
        case .mmf: (["mmf"], ["adpcm_yamaha"])
        case .qcp: (["qcp"], ["qcelp"])
        case .g729: (["bit"], ["g729"])
        case .real: (["rm"], ["real_144", "real_288", "cook", "sipr"])
        case .atrac: (["oma"], ["atrac3"])
        case .mace: ([], ["mace3", "mace6"])
        }
    }
}

extension Set<SourceFormat> {
    /// Everything that can be read.
    public static var all: Self { Set(SourceFormat.allCases) }

    /// The names of demuxers, each once, in the order of `SourceFormat`.
    public var demuxers: [String] { names(\.demuxers) }

    /// The names of decoders, each once, in the order of `SourceFormat`.
    public var decoders: [String] { names(\.decoders) }

    /// The words for each of these demuxers and decoders.
    public var words: Set<String> {
        Set<String>(demuxers.compactMap(SourceFormat.word(forDemuxer:)))
            .union(decoders.compactMap(SourceFormat.word(forDecoder:)))
    }

    private func names(_ part: KeyPath<SourceFormat, [String]>) -> [String] {
        var seen: Set<String> = []
        return SourceFormat.allCases.filter(contains).flatMap { $0[keyPath: part] }.filter { seen.insert($0).inserted }
    }
}
