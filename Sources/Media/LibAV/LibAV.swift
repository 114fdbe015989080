import CLibAV
public import Conversion

/// The libraries under `Media`.
public enum LibAV {
    /// One library and its version, as people write it: `libavcodec`, `59.37.100`.
    public struct Library: Sendable, Hashable {
        public let name: String
        public let version: String

        fileprivate init(_ name: String, _ number: UInt32) {
            self.name = name
            version = "\(number >> 16).\(number >> 8 & 0xFF).\(number & 0xFF)"
        }
    }

    /// What is loaded now, which can differ from what the program was built with.
    public static var libraries: [Library] {
        [
            Library("libavformat", avformat_version()),
            Library("libavcodec", avcodec_version()),
            Library("libswresample", swresample_version()),
            Library("libavutil", avutil_version()),
        ]
    }

    /// The codecs that can be written. Builds of libav differ: some leave out what comes from other libraries.
    public static var writableCodecs: [Codec] { Codec.allCases.filter(Encoder.exists) }

    /// The release that these libraries came in: `5.1.9-0+deb12u1`.
    public static var release: String { String(cString: av_version_info()) }
}
