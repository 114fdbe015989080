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

    /// The major version of the loaded libavcodec.
    public static var codecMajor: Int { Int(avcodec_version() >> 16) }

    /// The version of the loaded libavcodec: `59.37.100`.
    static var codecVersion: String { Library("libavcodec", avcodec_version()).version }

    /// The releases with which the tests of this package run, by the version of their libavcodec.
    static let testedReleases: [(release: String, codec: (major: UInt32, minor: UInt32))] = [
        ("5.1", (59, 37)), ("7.1", (61, 19)),
    ]

    // MARK: What differs between releases

    /// Most code asks how libav behaves, not for its release. What only the release tells is here.
    static var isRelease7: Bool { avformat_version() >> 16 >= 61 }

    /// See `ResolvedFormat.FloatHeader`.
    static var floatHeader: ResolvedFormat.FloatHeader { isRelease7 ? .short : .long }

    // MARK: Tested releases

    /// Whether `version`, as of `avcodec_version()`, belongs to a tested release.
    static func isTested(codec version: UInt32) -> Bool {
        testedReleases.contains { $0.codec == (version >> 16, version >> 8 & 0xFF) }
    }

    /// A warning if the loaded libraries are of a release that was never tested; otherwise `nil`.
    public static var releaseWarning: String? { releaseWarning(codec: avcodec_version()) }

    static func releaseWarning(codec version: UInt32) -> String? {
        guard !isTested(codec: version) else { return nil }
        return
            "sluice was never tested with libav \(release), only with \(testedReleases.map(\.release).joined(separator: ", "))"
    }
}
