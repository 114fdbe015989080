import CLibAV
public import Conversion

/// The libav libraries that `Media` uses.
public enum LibAV {
    /// One library and its version, in the usual notation: `libavcodec`, `59.37.100`.
    public struct Library: Sendable, Hashable {
        public let name: String
        public let version: String

        fileprivate init(_ name: String, _ number: UInt32) {
            self.name = name
            version = "\(number >> 16).\(number >> 8 & 0xFF).\(number & 0xFF)"
        }
    }

    /// The libraries loaded at run time, which can differ from those the program was built with.
    public static var libraries: [Library] {
        [
            Library("libavformat", avformat_version()),
            Library("libavcodec", avcodec_version()),
            Library("libswresample", swresample_version()),
            Library("libavutil", avutil_version()),
        ]
    }

    /// The codecs that the loaded libraries can encode. Builds of libav differ: some omit
    /// codecs that need external libraries.
    public static var writableCodecs: [Codec] { Codec.allCases.filter(Encoder.exists) }

    /// The release of the loaded libraries: `5.1.9-0+deb12u1`.
    public static var release: String { String(cString: av_version_info()) }
}
