import Foundation
import Ledger
import TestSupport
import Testing

/// Outputs on file systems that lack what local ones have, as NFS and most of FUSE do.
@Suite(.enabled(if: MirroredFolder.isPossible, "no FUSE file system can be mounted here"))
struct NetworkFileSystemTests {
    /// What a file system lacks besides unnamed files and a rename that refuses to overwrite.
    enum Lack: String, CaseIterable, CustomTestStringConvertible {
        case nothing = ""
        case attributes = "--xattr-none"
        /// Also, every file has the owner `nobody`, whichever user creates it. An NFS server with `root_squash` does this
        /// to files that root creates.
        case ownership = "--xattr-none --force-user=nobody --force-group=nogroup"

        var testDescription: String { self == .nothing ? "nothing more" : rawValue }
    }

    @Test(arguments: Lack.allCases)
    func outputsArePublishedOnceWholeAndWithNothingBeside(lack: Lack) async throws {
        let lab = try await WorkerLab(lease: "1 s")
        try lab.addSource()
        let reference = try #require(try await lab.submit(1, "local").first)
        let local = try lab.worker("--until-idle")
        try await local.endsWell()
        let digest = try lab.sql("select encode(digest, 'hex') from \(lab.schema).finished where job = \(reference)")

        let disk = MirroredFolder.words(at: lab.path("out"), lack.rawValue)
        try await lab.submit(120)
        // The first is killed with outputs in all states between open and published.
        let first = try lab.worker("--slots", "2", behind: disk)
        try await lab.wait("some are done") { try lab.truth()["completed", default: 0] > 20 }
        first.kill()
        let second = try lab.worker("--slots", "2", behind: disk)
        try await lab.wait(for: 121, "completed")
        try await second.stopsWell()
        #expect(try lab.sql("select count(*) from \(lab.schema).attempt where outcome = 'failed'") == "0")
        #expect(
            try lab.sql("select count(*) from \(lab.schema).finished where encode(digest, 'hex') <> '\(digest)'") == "0"
        )
        let visible = try lab.outputs().filter { !$0.hasPrefix(".") }
        #expect(visible.count == 121)
        let sums = try Run.program("sha256sum", visible.map { lab.path("out/\($0)") }).checked().outputText
        let digests: [String] = sums.split(separator: "\n").map { String($0.prefix(64)) }
        #expect(Set(digests) == [digest])
    }

    /// A failover loses the record of outputs that exist. No job may fail on its own output.
    @Test(arguments: Lack.allCases)
    func outputsAreAdoptedAfterAFailover(lack: Lack) async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        try await lab.submit(20)
        let disk = MirroredFolder.words(at: lab.path("out"), lack.rawValue)
        let first = try lab.worker("--until-idle", behind: disk)
        try await first.endsWell()
        let before = try lab.outputs()
        try lab.forgetFinishedJobs()
        let second = try lab.worker("--until-idle", behind: disk)
        try await second.endsWell()
        #expect(try lab.truth() == ["completed": 20])
        #expect(try lab.sql("select distinct placement from \(lab.schema).finished") == "adopted")
        #expect(try lab.outputs() == before)
    }
}

/// A folder that a process and its children see through a FUSE file system (bindfs), which has neither unnamed files nor a
/// rename that refuses to overwrite. All others see the folder itself.
enum MirroredFolder {
    /// bindfs ends with the process.
    private static let mount = """
        setpriv --pdeathsig KILL bindfs -f $1 -o nonempty "$0" "$0" &
        # It shows by the mount alone that it is ready.
        until mountpoint -q "$0"; do kill -0 $! || exit 1; sleep 0.01; done
        kill -$2 $!
        shift 2 && exec "$@"
        """

    /// The words to put before a command. With `isSilent`, the file system does not answer.
    static func words(at folder: String, _ options: String, isSilent: Bool = false) -> [String] {
        ["unshare", "--mount", "sh", "-c", mount, folder, options, isSilent ? "STOP" : "CONT"]
    }

    static let isPossible: Bool = {
        // If no folder can be made, all other tests fail and show it.
        guard geteuid() == 0, let folder = try? TemporaryFolder.create() else { return false }
        let test = words(at: folder.path, "") + ["true"]
        // If bindfs is missing or cannot mount, these tests cannot run.
        return (try? Run.program(test[0], Array(test.dropFirst())).succeeded) == true
    }()
}
