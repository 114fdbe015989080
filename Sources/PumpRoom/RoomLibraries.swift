public import Conversion
import Media

/// The libraries that do the work in a pump room, for version output and records.
public enum RoomLibraries {
    /// The release of libav: `5.1.9-0+deb12u1`.
    public static var release: String { LibAV.release }

    /// A warning if libav is of a release that was never tested; otherwise `nil`.
    public static var releaseWarning: String? { LibAV.releaseWarning }

    /// The codecs that a room can write with these libraries.
    public static var writableCodecs: [Codec] { LibAV.writableCodecs }

    /// Each library with its version: `libavcodec 59.37.100`.
    public static var versions: [String] { LibAV.libraries.map { "\($0.name) \($0.version)" } }

    /// `libav 5.1.9-0+deb12u1 (libavformat 59.27.100, libavcodec 59.37.100, ...)`
    public static var description: String { "libav \(release) (\(versions.joined(separator: ", ")))" }

    /// The major version of libavcodec, which changes with every release of libav that may convert differently.
    public static var codecMajor: Int { LibAV.codecMajor }
}
