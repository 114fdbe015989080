import Foundation
import Ledger
import TestSupport
import Testing

/// A worker with two roots, of which the file server of one lies or does not answer some calls. It goes on with the other
/// root, and nothing is completed that was not published.
@Suite(.enabled(if: HostileFolder.isPossible, "no FUSE file system can be mounted here"))
struct HostileFileServerTests {
    /// What the server does. `Tests/Programs/HostileFiles` does it.
    enum Lie: String, CaseIterable, CustomTestStringConvertible {
        /// For comparison.
        case nothing
        /// Files have times before the beginning and after the end of time.
        case ages
        /// More free space than a number holds, and each write finds the disk full.
        case space
        /// Each file is as long as a number can say.
        case sizes
        /// A file that was written is as long as it should be, and can be read without end.
        case growth
        /// A folder lists names of unfinished outputs without end.
        case names
        /// Links and renames succeed, and the names are not there.
        case lostNames = "lost-names"
        /// Writes succeed, and the bytes are not there.
        case lostBytes = "lost-bytes"
        /// Reading fails with ESTALE, flushing with EIO.
        case errors
        /// Opening and creating files get no answer, and everything else does.
        case silence

        var testDescription: String { rawValue }

        /// Whether jobs below this root can end well.
        var isHarmless: Bool { [.nothing, .ages, .names].contains(self) }
    }

    @Test(arguments: Lie.allCases)
    func theWorkerGoesOnWithItsOtherRoots(_ lie: Lie) async throws {
        let lab = try await WorkerLab()
        for root in ["good", "bad"] {
            try FileManager.default.createDirectory(atPath: lab.path(root), withIntermediateDirectories: false)
            try lab.addSource("../\(root)/talk.wav")
        }
        // What an earlier worker has left.
        try Bytes.write([0], to: lab.path("bad/.old.sluice-1.part"))
        func submit(_ count: Int, in root: String) async throws -> [Int64] {
            let recipes = (0..<count).map { number in
                WorkerLab.recipe("\(root):talk.wav", to: "\(root):\(number == 0 ? "" : "\(number)/")talk.flac")
            }
            return try await lab.submit(recipes)
        }
        let jobs = try await submit(2, in: "bad")
        // More slots than jobs that the server may hold up.
        let worker = try lab.worker(
            "--slots",
            "3",
            "--grace",
            "1s",
            roots: ["good", "bad"],
            behind: HostileFolder.words(at: lab.path("bad"), lie)
        )
        let bad = jobs.map { "\($0)" }.joined(separator: ",")
        func completed(_ condition: String) throws -> String {
            try lab.sql("select count(*) from \(lab.schema).finished where state = 'completed' and job \(condition)")
        }
        // Those that failed, and those that were handed back because of the file system.
        let outcomes = "('failed', 'released')"
        let ended =
            "select count(*) from \(lab.schema).attempt where job in (\(bad)) and outcome in \(outcomes)"
        switch lie {
        case .nothing: break
        // They keep their slots until they have stalled.
        case .sizes, .silence: try await lab.wait("both have begun") { try lab.truth()["running"] == 2 }
        // Sweeping reads the times of the files, beside jobs.
        case .ages, .names: try await lab.wait(for: 2, "completed")
        default: try await lab.wait("two attempts have ended") { try Int(lab.sql(ended)) ?? 0 >= 2 }
        }
        _ = try await submit(4, in: "good")
        try await lab.wait("the good root is done") { try completed("not in (\(bad))") == "4" }
        if lie.isHarmless { try await lab.wait(for: 6, "completed") }
        #expect(try completed("in (\(bad))") == (lie.isHarmless ? "2" : "0"))
        try await worker.stopsWell()
        let outputs = try ["", "1/", "2/", "3/"].map { try Bytes.read(lab.path("good/\($0)talk.flac")) }
        #expect(Set(outputs).count == 1)
    }
}

/// A folder that a process and its children see through a file system that lies. All others see the folder itself.
private enum HostileFolder {
    /// The server ends with the process.
    private static let mount = """
        setpriv --pdeathsig KILL "$0" "$1" "$2" &
        # It shows by the mount alone that it is ready.
        until mountpoint -q "$1"; do kill -0 $! || exit 1; sleep 0.01; done
        shift 2 && exec "$@"
        """

    private static let program = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Programs/HostileFiles/hostile-files").path

    static func words(at folder: String, _ lie: HostileFileServerTests.Lie) -> [String] {
        ["unshare", "--mount", "sh", "-c", mount, program, folder, lie.rawValue]
    }

    static let isPossible: Bool = {
        // `try?`: if no folder can be made, all other tests fail and show it.
        guard geteuid() == 0, let folder = try? TemporaryFolder.create() else { return false }
        let test = words(at: folder.path, .nothing) + ["true"]
        // `try?`: without FUSE and its programs, these tests cannot run.
        return (try? Run.program(test[0], Array(test.dropFirst())).succeeded) == true
    }()
}
