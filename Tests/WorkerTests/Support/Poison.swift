import Foundation
import TestSupport

/// What a source file makes a room do, if the rooms are those of `poisoned-sluice`.
enum Poison: String, CaseIterable, Sendable {
    case segmentationFault = "SIGSEGV"
    case abort = "SIGABRT"
    case forbiddenCall = "SIGSYS"
    case hang, spin
    /// Maps all address space that the room may have, and then goes on.
    case addresses
    /// Uses more and more memory until the room is killed.
    case memory
    /// Keep access to the output and change it after the room has reported the end: through a duplicate of the
    /// descriptor, through a shared mapping, by truncating it to nothing, by extending it to a terabyte.
    case rewrite, remap, empty, grow
    /// Makes the output longer than reported without writing: by a page, or by four gigabytes.
    case page, sparse

    /// The poisons whose output differs from the room's report.
    static let afterTheEnd: [Poison] = [.rewrite, .remap, .empty, .grow, .page, .sparse]

    private var letter: String {
        switch self {
        case .segmentationFault: "v"
        case .abort: "a"
        case .forbiddenCall: "y"
        case .hang: "h"
        case .spin: "r"
        case .addresses: "m"
        case .memory: "o"
        case .rewrite: "w"
        case .remap: "p"
        case .empty: "e"
        case .grow: "g"
        case .page: "l"
        case .sparse: "s"
        }
    }

    /// Writes a file with the word that triggers it, far enough from the beginning for frames to have moved.
    func write(to path: String) throws {
        try WAVFile.write(Signal.noise(seed: 3, rate: 8_000, frames: 240_000).pcm(.s16), to: path)
        try Bytes.overwrite(path, at: 300_000, with: [0] + Array("sluice-poison-\(letter)".utf8))
    }
}

extension WorkerProcess {
    /// The command whose rooms react to poison.
    static let poisoned = BuiltProgram.path("poisoned-sluice")
}

/// Processes that share a memory limit in a control group.
struct MemoryGroup {
    private let path: String

    /// The two versions of the control group file system: where it is mounted, and the name of the file with the limit.
    private static let places = [
        (folder: "/sys/fs/cgroup/memory", limit: "memory.limit_in_bytes"),
        (folder: "/sys/fs/cgroup", limit: "memory.max"),
    ]

    static let isPossible: Bool = {
        guard let group = make(bytes: 64 << 20) else { return false }
        group.remove()
        return true
    }()

    /// `nil` if the machine offers no memory control groups, or no permission to use them.
    static func make(bytes: Int) -> MemoryGroup? {
        for place in places {
            let path = "\(place.folder)/\(PrivatePostgres.freshName("sluice"))"
            guard mkdir(path, 0o755) == 0 else { continue }
            let group = MemoryGroup(path: path)
            // If the file cannot be written, this version is not available.
            if (try? "\(bytes)".write(toFile: "\(path)/\(place.limit)", atomically: false, encoding: .utf8)) != nil {
                return group
            }
            group.remove()
        }
        return nil
    }

    /// The words to put before a command, so that it and all its children run in the group.
    var command: [String] { ["sh", "-c", "echo $$ > \"$0/cgroup.procs\" && exec \"$@\"", path] }

    /// Call it when the group's processes are gone.
    func remove() { rmdir(path) }
}
