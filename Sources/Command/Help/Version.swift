import Ledger
import PumpRoom

/// What this is, and what it runs on.
enum Version {
    /// The release, or the one that is being worked on.
    static let number = "0.1.0-dev"

    static var lines: [String] {
        ["sluice \(number)", "libav \(RoomLibraries.release) (\(RoomLibraries.versions.joined(separator: ", ")))"]
            + ["libpq \(LibPQ.version)"]
    }
}
