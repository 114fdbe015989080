/// The formats that Sluice reads but does not write. It also reads everything in `FormatTable`.
public enum ReadableFormats {
    /// One kind of file and one codec in it.
    public struct Row: Sendable, Hashable {
        /// The kind of file, as the command line names it.
        public var container: String
        /// Without dots.
        public var extensions: [String]
        /// libav's name of the codec.
        public var codec: String
        /// Whether the file states to the frame where the sound begins and ends.
        public var isGapless: Bool
        public var isLossless: Bool
    }

    /// Whether the extension of `path` belongs to a format that is read and not written.
    public static func isReadOnly(path: String) -> Bool {
        guard let dot = path.lastIndex(of: "."), !path[dot...].contains("/") else { return false }
        let name = path[path.index(after: dot)...].lowercased()
        return Container.forFileExtension(name) == nil && readOnly.contains { $0.extensions.contains(name) }
    }

    /// In display order.
    public static let readOnly: [Row] =
        [
            Row(container: "ape", extensions: ["ape"], codec: "ape", isGapless: true, isLossless: true),
            Row(container: "tta", extensions: ["tta"], codec: "tta", isGapless: true, isLossless: true),
            Row(container: "mpc", extensions: ["mpc"], codec: "musepack8", isGapless: true, isLossless: false),
            Row(container: "mpc", extensions: ["mpc"], codec: "musepack7", isGapless: false, isLossless: false),
            Row(container: "dsf", extensions: ["dsf"], codec: "dsd_lsbf_planar", isGapless: true, isLossless: false),
        ]
        + ["wmav1", "wmav2", "wmapro", "wmavoice"].map {
            Row(container: "asf", extensions: ["wma"], codec: $0, isGapless: false, isLossless: false)
        } + [
            Row(container: "asf", extensions: ["wma"], codec: "wmalossless", isGapless: false, isLossless: true),
            Row(container: "mpeg", extensions: ["mp2"], codec: "mp2", isGapless: false, isLossless: false),
            Row(container: "mpeg", extensions: ["mp1"], codec: "mp1", isGapless: false, isLossless: false),
            Row(container: "ac3", extensions: ["ac3"], codec: "ac3", isGapless: false, isLossless: false),
            Row(container: "eac3", extensions: ["eac3", "ec3"], codec: "eac3", isGapless: false, isLossless: false),
            Row(container: "dts", extensions: ["dts"], codec: "dts", isGapless: false, isLossless: false),
            Row(container: "amr", extensions: ["amr"], codec: "amr_nb", isGapless: false, isLossless: false),
            Row(container: "amr", extensions: ["amr", "awb"], codec: "amr_wb", isGapless: false, isLossless: false),
            Row(container: "gsm", extensions: ["gsm"], codec: "gsm", isGapless: false, isLossless: false),
        ]
        + ["adpcm_ms", "adpcm_ima_wav", "gsm_ms", "g729", "atrac3"].map {
            Row(container: "wav", extensions: ["wav"], codec: $0, isGapless: false, isLossless: false)
        }
        + ["aac", "mp2", "ac3", "eac3", "dts"].map {
            Row(container: "mpegts", extensions: ["ts", "m2ts"], codec: $0, isGapless: false, isLossless: false)
        }
        + ["ac3", "eac3", "dts"].map {
            Row(container: "mka", extensions: ["mka", "mkv"], codec: $0, isGapless: false, isLossless: false)
        }
        + studio + computers + telephones

    /// Discs and films.
    private static let studio: [Row] =
        [
            Row(container: "truehd", extensions: ["thd"], codec: "truehd", isGapless: true, isLossless: true),
            Row(container: "mka", extensions: ["mka", "mkv"], codec: "truehd", isGapless: true, isLossless: true),
            Row(container: "mpegts", extensions: ["m2ts"], codec: "truehd", isGapless: true, isLossless: true),
            Row(container: "mlp", extensions: ["mlp"], codec: "mlp", isGapless: false, isLossless: true),
            Row(container: "mka", extensions: ["mka", "mkv"], codec: "mlp", isGapless: false, isLossless: true),
            Row(container: "dsdiff", extensions: ["dff"], codec: "dsd_msbf", isGapless: true, isLossless: false),
            Row(container: "mpegps", extensions: ["vob"], codec: "pcm_dvd", isGapless: true, isLossless: true),
        ]
        + ["mp2", "ac3", "dts"].map {
            Row(
                container: "mpegps",
                extensions: ["mpg", "mpeg", "vob"],
                codec: $0,
                isGapless: false,
                isLossless: false
            )
        }

    /// Older computers and their players.
    private static let computers: [Row] =
        [
            Row(container: "avi", extensions: ["avi"], codec: "pcm_s16le", isGapless: true, isLossless: true),
            Row(container: "voc", extensions: ["voc"], codec: "pcm_s16le", isGapless: true, isLossless: true),
            Row(container: "8svx", extensions: ["8svx"], codec: "pcm_s8_planar", isGapless: true, isLossless: true),
            Row(container: "ircam", extensions: ["sf"], codec: "pcm_s16le", isGapless: true, isLossless: true),
            Row(container: "sox", extensions: ["sox"], codec: "pcm_s32le", isGapless: true, isLossless: true),
        ]
        + ["mp3", "ac3"].map {
            Row(container: "avi", extensions: ["avi"], codec: $0, isGapless: false, isLossless: false)
        }
        + ["mp3", "aac", "nellymoser", "adpcm_swf"].map {
            Row(container: "flv", extensions: ["flv"], codec: $0, isGapless: false, isLossless: false)
        }
        + ["cook", "sipr", "ra_144", "ra_288", "ac3"].map {
            Row(container: "rm", extensions: ["rm", "ra"], codec: $0, isGapless: false, isLossless: false)
        }
        + ["mace3", "mace6"].map {
            Row(container: "aifc", extensions: ["aifc"], codec: $0, isGapless: false, isLossless: false)
        } + [Row(container: "oma", extensions: ["oma", "aa3"], codec: "atrac3", isGapless: false, isLossless: false)]

    /// Speech.
    private static let telephones: [Row] = [
        Row(container: "ogg", extensions: ["spx"], codec: "speex", isGapless: true, isLossless: false),
        Row(container: "sphere", extensions: ["sph"], codec: "pcm_s16le", isGapless: true, isLossless: true),
        Row(container: "qcp", extensions: ["qcp"], codec: "qcelp", isGapless: false, isLossless: false),
        Row(container: "mmf", extensions: ["mmf"], codec: "adpcm_yamaha", isGapless: false, isLossless: false),
    ]
}
