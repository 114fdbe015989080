import Conversion
import Foundation
import TestSupport
import Testing

@testable import PumpRoom

/// Code that has taken over a room tries many attacks, and none succeeds.
@Suite(.timeLimit(.minutes(15))) struct HostileTests {
    /// One attack, by its name in the program that tries it.
    struct Action: CustomTestStringConvertible, Sendable {
        let name: String
        /// Whether root can do it without a lock, so that a refusal proves something.
        let isPossible: Bool

        var testDescription: String { name }

        static let all: [Action] = {
            // Without the list there is nothing to test, and that must not pass.
            guard let run = try? Run.program(BuiltProgram.testProgram, ["hostile", "list"]).checked() else {
                preconditionFailure("\(BuiltProgram.testProgram) does not list its hostile actions")
            }
            return run.outputText.split(separator: "\n").map { line in
                let words = line.split(separator: " ")
                return Action(name: String(words[0]), isPossible: words[1] == "possible")
            }
        }()
    }

    private let folder: TemporaryFolder
    private let unix: Listener
    private let tcp: Listener

    init() throws {
        folder = try TemporaryFolder.create()
        // The locked process runs as another user. The folder's permissions let that user write here.
        chmod(folder.path("."), 0o777)
        try Bytes.write(Array("victim".utf8), to: folder.path("victim"))
        chmod(folder.path("victim"), 0o666)
        unix = try Listener.unix(folder.path("socket"))
        tcp = try Listener.tcp()
    }

    private enum Outcome: Equatable { case succeeded, refused, killed }

    private func attempt(_ action: Action, locked: Bool) throws -> Outcome {
        // Run it below a shell, which then serves as the parent whose secrets it attacks.
        let words = [
            "-c", "\"$@\"; exit $?", "sh", BuiltProgram.testProgram, "hostile", locked ? "locked" : "open",
            action.name, folder.path("."), folder.path("socket"), "\(tcp.port)",
        ]
        let run = try Run.program("sh", words, environment: ["PATH": "/usr/bin:/bin", "SECRET": "password"])
        let lines = run.outputText.split(separator: "\n").map(String.init)
        if locked { #expect(lines.first == "locked", "\(run.outputText) \(run.errorText)") }
        switch (lines.last, run.status) {
        case ("succeeded", .exited(0)): return .succeeded
        case (let last?, .exited(0)) where last.hasPrefix("refused"): return .refused
        // The shell's exit status for SIGSYS.
        case (_, .exited(128 + 31)): return .killed
        // The process has executed another program.
        case (_, .exited(0)): return .succeeded
        default: throw SupportError("try \(action.name)", "\(run.status): \(run.outputText) \(run.errorText)")
        }
    }

    @Test func thereAreEnoughOfThem() {
        #expect(Action.all.count >= 100)
        let names = Set(Action.all.map(\.name))
        #expect(names.count == Action.all.count && names.isSuperset(of: Self.refused))
    }

    /// The calls that glibc makes for legitimate reasons, which the lock refuses. All others kill the room.
    private static let refused: Set = [
        "read_passwords", "read_victim", "read_own_maps", "read_environment_of_parent", "read_words_of_parent",
        "list_folder", "find_path", "write_beyond_budget", "cut_beyond_budget", "take_memory_beyond_budget",
    ]

    @Test(arguments: Action.all) func lockedRoomCannot(action: Action) throws {
        let isRefused = Self.refused.contains(action.name)
        #expect(try attempt(action, locked: true) == (isRefused ? .refused : .killed))
        #expect(try Bytes.read(folder.path("victim")) == Array("victim".utf8))
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path("."))
        #expect(Set(names) == ["victim", "socket", "open"])
        #expect(!unix.wasCalled && !tcp.wasCalled)
    }

    /// The control: without a lock the same attacks succeed.
    @Test(
        .enabled(if: geteuid() == 0, "what is possible is listed for root"),
        arguments: Action.all.filter(\.isPossible)
    )
    func withoutItsLockItCould(action: Action) throws {
        #expect(try attempt(action, locked: false) == .succeeded)
    }

    @Test func killedRoomSaysWhichCallItWas() throws {
        let run = try Run.program(
            BuiltProgram.testProgram,
            ["hostile", "locked", "open_ring", folder.path("."), folder.path("socket"), "1"]
        )
        #expect(run.status == .signalled(SIGSYS))
        #expect(LastCall.name(in: run.errorText) == "io_uring_setup")
    }

    // MARK: Secrets

    /// The whole memory of a room contains none of its worker's secrets.
    @Test(.enabled(if: geteuid() == 0, "root alone may look into a locked room"))
    func roomKnowsNoPassword() async throws {
        let bench = try SlotBench()
        let secret = "sesame-\(UInt64.random(in: 0...UInt64.max))"
        let url = "postgres://worker:\(secret)@db.invalid/sluice"
        let words = try OpenPipe.open()
        let feed = try OpenPipe.open()
        let child = try ChildProcess.spawn(
            BuiltProgram.testProgram,
            ["slot", "hold", SlotBench.program, bench.endless, bench.folder.path("long.opus"), "60000"],
            environment: ["SLUICE_DATABASE_URL": url, "PGPASSWORD": secret],
            folder: nil,
            input: feed.reading,
            output: words.writing,
            errors: STDERR_FILENO
        )
        defer { child.kill() }
        words.closeWriting()
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while read(words.reading, &byte, 1) == 1, byte != 0x0A { line.append(byte) }
        let room = try #require(String(decoding: line, as: UTF8.self).split(separator: " ").last.flatMap { Int32($0) })
        let parent = try #require(ProcessMemoryFacts.parent(of: room))
        let (inParent, parentBytes) = try ProcessMemoryFacts.count(of: secret, in: parent)
        let (inRoom, roomBytes) = try ProcessMemoryFacts.count(of: secret, in: room)
        // The search finds the secret in the parent, so finding none in the room means something.
        #expect(inParent > 0)
        #expect(parentBytes > 1 << 20 && roomBytes > 1 << 20)
        #expect(inRoom == 0)
        #expect(try ProcessMemoryFacts.whole("/proc/\(parent)/environ").isEmpty == false)
        #expect(try ProcessMemoryFacts.whole("/proc/\(room)/environ").isEmpty)
    }
}
