import Console
import Ledger
import PumpRoom

/// The version of this program and of its libraries.
enum Version {
    /// The current release, or the next one during development.
    static let number = SluiceBuild.number

    /// How requests to a coordinator name this program.
    static let userAgent = "sluice/\(number)"

    /// The libraries of this program's rooms; `nil` if they cannot be asked for. Takes as long as loading libav.
    ///
    /// `try?`: where rooms matter, their start or `sluice doctor` says what is wrong.
    static let rooms: RoomLibraries? = try? RoomLibraries.asking()

    /// The version of libavcodec in rooms: `59.37.100`; empty if it is not known.
    static var codecLibrary: String { rooms?.codecVersion ?? "" }

    /// Without the libraries of rooms, which this program does not load.
    static var lines: [String] { lines(commit: SourceCommit.ofThisBuild) }

    static func lines(commit: SourceCommit?) -> [String] {
        [
            "sluice \(number)" + (commit.map { ", \($0.words)" } ?? ""), "libpq \(LibPQ.version)",
            "ledger version \(Migrator.version)",
        ]
    }

    /// With the libraries of rooms.
    static var allLines: [String] { allLines(rooms: rooms) }

    static func allLines(rooms: RoomLibraries?) -> [String] { lines + (rooms?.lines ?? []) }
}
