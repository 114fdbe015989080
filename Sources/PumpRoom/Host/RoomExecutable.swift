import Glibc
import System

/// The program `sluice-room` that belongs to the running program.
///
/// It is looked for beside the running program and in `../libexec/sluice`, never by PATH: what runs as a room gets the
/// files of users.
struct RoomExecutable: Sendable {
    /// Where it is, or where it should be.
    let path: String
    /// Keeps the file open: if an upgrade replaces it, later rooms are still those of the running version. `nil` if it was
    /// not found.
    private let file: SharedDescriptor?

    /// The one of this process, looked for once.
    static let own = found(among: places(beside: runningProgram))

    private static func found(among places: [String]) -> RoomExecutable {
        for place in places {
            let descriptor = open(place, O_RDONLY | O_CLOEXEC)
            if descriptor >= 0 { return RoomExecutable(path: place, file: SharedDescriptor(adopting: descriptor)) }
        }
        return RoomExecutable(path: places.last ?? RoomStart.name, file: nil)
    }

    /// The path with which it is started: that of the open file, unless a child process could not use it.
    var startPath: String {
        // The number of this process in /proc differs from `getpid` where /proc belongs to an outer process namespace.
        guard let file, ProcessAccess.isOpenToItsUser, let process = Self.target(of: "/proc/self") else { return path }
        return "/proc/\(process)/fd/\(file.number)"
    }

    /// `executable` for people: the path of the file instead of that of an open descriptor.
    static func shown(_ executable: String) -> String { executable == own.startPath ? own.path : executable }

    /// What to do if it is missing or of another version.
    static let hint =
        "\(RoomStart.name) belongs beside sluice or into ../libexec/sluice: install both from one package, then start this again"

    /// Where the program of `program` may be, the first choice first. A renamed copy, such as `sluice-0.2`, may have its
    /// own: `sluice-0.2-room`.
    static func places(beside program: String) -> [String] {
        // What the kernel says of a file that was replaced since the program started.
        let program = program.hasSuffix(" (deleted)") ? String(program.dropLast(10)) : program
        var folders = program.split(separator: "/", omittingEmptySubsequences: false)
        let name = folders.removeLast()
        let beside = folders.joined(separator: "/")
        let above = folders.dropLast().joined(separator: "/")
        let names = name == "sluice" ? [RoomStart.name] : ["\(name)-room", RoomStart.name]
        return names.flatMap { ["\(beside)/\($0)", "\(above)/libexec/sluice/\($0)"] }
    }

    /// Without /proc no room can work, and the error of its start says so.
    private static var runningProgram: String { target(of: "/proc/self/exe") ?? "/usr/bin/sluice" }

    /// Where a symbolic link leads.
    private static func target(of link: String) -> String? {
        var letters = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(link, &letters, letters.count - 1)
        guard count > 0 else { return nil }
        return String(decoding: letters.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// Why the program `sluice-room` cannot be used.
public struct RoomProgramError: Error, Sendable, Hashable, CustomStringConvertible {
    public var message: String
    public var hint: String

    public var description: String { message }

    init(_ message: String) { (self.message, hint) = (message, RoomExecutable.hint) }

    /// For a program of another version than this one.
    static func mismatch(build: String, version: Int? = nil) -> String {
        let theirs = version.map { " (protocol \($0))" } ?? ""
        let ours = version == nil ? "" : " (protocol \(wireVersion))"
        return "\(RoomStart.name) has version \(build)\(theirs), and sluice has \(SluiceBuild.number)\(ours)"
    }
}
