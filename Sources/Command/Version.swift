import Console
import Ledger
import PumpRoom

/// The version of this program and of its libraries.
enum Version {
    /// The current release, or the next one during development.
    static let number = "0.2.0-dev"

    /// How requests to a coordinator name this program.
    static let userAgent = "sluice/\(number)"

    /// The version of libavcodec: `59.37.100`.
    static var codecLibrary: String {
        let prefix = "libavcodec "
        return RoomLibraries.versions.first { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) } ?? ""
    }

    static var lines: [String] {
        lines(commit: SourceCommit.ofThisBuild, releaseWarning: RoomLibraries.releaseWarning)
    }

    /// `releaseWarning` is about the release of libav.
    static func lines(commit: SourceCommit?, releaseWarning: String?) -> [String] {
        ["sluice \(number)" + (commit.map { ", \($0.words)" } ?? "")]
            + [RoomLibraries.description, "libpq \(LibPQ.version)", "ledger version \(Migrator.version)"]
            + (releaseWarning.map { ["warning: \($0)"] } ?? [])
    }
}
