/// What is read beside everything that `FormatTable` writes: files of these kinds come in and do not go out.
public enum ReadableFormats {
    /// One kind of file and a codec in it.
    public struct Row: Sendable, Hashable {
        /// The kind of file, in the command's words.
        public var container: String
        /// Without dots.
        public var extensions: [String]
        /// libav's name of the codec.
        public var codec: String
        /// Whether the file says where the sound begins and ends, to the frame.
        public var isGapless: Bool
        public var isLossless: Bool
    }

    /// In the order to show them in.
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
        + ["adpcm_ms", "adpcm_ima_wav", "gsm_ms"].map {
            Row(container: "wav", extensions: ["wav"], codec: $0, isGapless: false, isLossless: false)
        }
        + ["aac", "mp2", "ac3", "eac3", "dts"].map {
            Row(container: "mpegts", extensions: ["ts", "m2ts"], codec: $0, isGapless: false, isLossless: false)
        }
        + ["ac3", "eac3", "dts"].map {
            Row(container: "mka", extensions: ["mka", "mkv"], codec: $0, isGapless: false, isLossless: false)
        }
}
