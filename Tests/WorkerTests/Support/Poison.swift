import Foundation
import TestSupport

/// What a file may have a room do, where the rooms are those of `poisoned-sluice`.
enum Poison: String, CaseIterable, Sendable {
    case segmentationFault = "SIGSEGV"
    case abort = "SIGABRT"
    case forbiddenCall = "SIGSYS"
    case hang, spin
    /// Takes all address space that the room has, and then goes on.
    case addresses
    /// Uses memory until somebody stops it.
    case memory
    /// Keep the output that is being written, and change it after the room has told of its end: by a duplicate of the descriptor, a
    /// shared mapping, to no length, to a terabyte.
    case rewrite, remap, empty, grow
    /// Makes the output longer than it tells, without writing: by a page, and by four gigabytes.
    case page, sparse

    /// Those after which an output is not what its room told.
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

    /// The word that does it, far enough behind the beginning for frames to have moved.
    func write(to path: String) throws {
        try WAVFile.write(Signal.noise(seed: 3, rate: 8_000, frames: 240_000).pcm(.s16), to: path)
        try Bytes.overwrite(path, at: 300_000, with: [0] + Array("sluice-poison-\(letter)".utf8))
    }
}

extension WorkerProcess {
    /// The command whose rooms poison works on.
    static let poisoned = BuiltProgram.path("poisoned-sluice")
}

/// Processes that may have only so much memory together, by the kernel's account.
struct MemoryGroup {
    private let path: String

    /// Where the kernel keeps such accounts, and what the file with the limit is called there: two ways, by its age.
    private static let places = [
        (folder: "/sys/fs/cgroup/memory", limit: "memory.limit_in_bytes"),
        (folder: "/sys/fs/cgroup", limit: "memory.max"),
    ]

    static let isPossible: Bool = {
        guard let group = make(bytes: 64 << 20) else { return false }
        group.remove()
        return true
    }()

    /// `nil` where the machine offers none: no rights, or no such accounts.
    static func make(bytes: Int) -> MemoryGroup? {
        for place in places {
            let path = "\(place.folder)/\(PrivatePostgres.freshName("sluice"))"
            guard mkdir(path, 0o755) == 0 else { continue }
            let group = MemoryGroup(path: path)
            // What cannot be written is not there, which is what is asked.
            if (try? "\(bytes)".write(toFile: "\(path)/\(place.limit)", atomically: false, encoding: .utf8)) != nil {
                return group
            }
            group.remove()
        }
        return nil
    }

    /// What to start a program behind, so that it and all that it starts are in the group.
    var command: [String] { ["sh", "-c", "echo $$ > \"$0/cgroup.procs\" && exec \"$@\"", path] }

    /// Once its processes are gone.
    func remove() { rmdir(path) }
}
