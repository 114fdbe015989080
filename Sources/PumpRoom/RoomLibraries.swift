public import Conversion

/// The libraries that do the work in a pump room, for version output and records.
///
/// Only `sluice-room` links them, so it is asked for them: see `asking`.
public struct RoomLibraries: Sendable, Hashable, Codable {
    /// The version of `sluice-room`.
    public var build: String
    /// The release of libav: `5.1.9-0+deb12u1`.
    public var release: String
    /// A warning if libav is of a release that was never tested; otherwise `nil`.
    public var releaseWarning: String?
    /// The codecs that a room can write with these libraries.
    public var writableCodecs: [Codec]
    /// Each library with its version: `libavcodec 59.37.100`.
    public var versions: [String]
    /// The major version of libavcodec, which changes with every release of libav that may convert differently.
    public var codecMajor: Int

    package init(
        build: String,
        release: String,
        releaseWarning: String?,
        writableCodecs: [Codec],
        versions: [String],
        codecMajor: Int
    ) {
        (self.build, self.release, self.releaseWarning) = (build, release, releaseWarning)
        (self.writableCodecs, self.versions, self.codecMajor) = (writableCodecs, versions, codecMajor)
    }

    /// `libav 5.1.9-0+deb12u1 (libavformat 59.27.100, libavcodec 59.37.100, ...)`
    public var description: String { "libav \(release) (\(versions.joined(separator: ", ")))" }

    /// The version of libavcodec: `59.37.100`.
    public var codecVersion: String {
        let prefix = "libavcodec "
        return versions.first { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) } ?? ""
    }

    /// The description, and the warning if there is one.
    public var lines: [String] { [description] + (releaseWarning.map { ["warning: \($0)"] } ?? []) }
}
