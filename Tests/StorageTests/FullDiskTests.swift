import Foundation
import TestSupport
import Testing

/// A destination without free space. Where no small disk can be mounted, the injected errors of
/// `PublishFaultTests` remain.
@Suite(.enabled(if: SmallDisk.isPossible, "no tmpfs can be mounted here, not even in a namespace"))
struct FullDiskTests {
    @Test(arguments: ["unnamed", "hidden"])
    func outputThatDoesNotFitLeavesNothing(mode: String) throws {
        let run = try SmallDisk.run("size=64k", mode: mode)
        #expect(run.outputText == "write refused\n")
        #expect(run.errorText == "")
    }

    @Test(arguments: ["unnamed", "hidden"])
    func diskWithoutRoomForAnotherFileIsNamed(mode: String) throws {
        let run = try SmallDisk.run("nr_inodes=1", mode: mode)
        #expect(run.outputText == "disk_full at open\n")
        #expect(run.errorText == "")
    }

    @Test(arguments: ["unnamed", "hidden"])
    func outputThatFitsIsThere(mode: String) throws {
        let run = try SmallDisk.run("size=1m", mode: mode)
        #expect(run.outputText == "published\n")
        #expect(run.errorText == "out.wav\n")
    }
}

/// A tmpfs in the mount namespace of one process.
enum SmallDisk {
    static let isPossible =
        (try? Run.program(command[0], command.dropFirst() + ["true"]).succeeded) == true
        && (try? run("size=1m", mode: "unnamed").errorText) == "out.wav\n"

    /// Publishes 100,000 bytes on a tmpfs mounted with `options`. Standard error lists the files on it afterwards.
    static func run(_ options: String, mode: String) throws -> Run {
        let folder = try TemporaryFolder.create()
        let script = """
            mount -t tmpfs -o \(options) tmpfs "$1" || exit 99
            shift
            "$@"
            ls -A "$(dirname "$2")" >&2
            """
        let process = StorageProcess(destination: folder.path("out.wav"), mode: mode)
        return try process.run(behind: command + ["sh", "-c", script, "sh", folder.path])
    }

    private static let command =
        geteuid() == 0 ? ["unshare", "--mount"] : ["unshare", "--user", "--map-root-user", "--mount"]
}
