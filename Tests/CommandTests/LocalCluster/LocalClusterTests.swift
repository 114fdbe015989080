import Foundation
import Glibc
import TestSupport
import Testing

@testable import LocalCluster

/// The private cluster, as a user with one machine uses it.
@Suite(.serialized)
struct LocalClusterTests {
    /// A separate data home for a test. Its processes end with it.
    private final class Home {
        let folder: TemporaryFolder
        /// The home of its user, and a folder beside it.
        let own: String
        let other: String

        init() throws {
            let folder = try TemporaryFolder.create()
            (self.folder, own, other) = (folder, folder.path("home"), folder.path("srv"))
            // The server's account must be able to enter the folder.
            guard chmod(folder.path, 0o711) == 0 else { throw SupportError("open the folder", errno: errno) }
            for path in [own, other] {
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            }
        }

        /// Runs `sluice` for the user whose home is `own`.
        func runAtHome(_ words: String...) throws -> Run {
            try Sluice.run(words, in: folder, environment: ["XDG_DATA_HOME": folder.path, "HOME": own])
        }

        func upAtHome(_ words: String...) throws -> Facts {
            let run = try Sluice.run(
                ["up", "--json"] + words,
                in: folder,
                environment: ["XDG_DATA_HOME": folder.path, "HOME": own]
            )
            return try JSONDecoder().decode(Facts.self, from: run.checked().stdout)
        }

        deinit {
            // The check for left-over processes finds whatever does not end here.
            _ = try? run("down")
        }

        func run(_ words: String...) throws -> Run {
            try Sluice.run(words, in: folder, environment: ["XDG_DATA_HOME": folder.path])
        }

        struct Facts: Decodable {
            let slots: Int?
            let roots: [String]
            let processes: [String: Int32]
        }

        func up(_ words: String...) throws -> Facts {
            let all = ["up", "--json"] + words
            let run = try Sluice.run(all, in: folder, environment: ["XDG_DATA_HOME": folder.path]).checked()
            return try JSONDecoder().decode(Facts.self, from: run.stdout)
        }

        /// Waits until the process `id` is gone.
        func untilGone(_ id: Int32) throws {
            guard ProcessEnd(of: id).wait(until: .now + .seconds(200)) else {
                throw SupportError("wait for \(id)", "it goes on")
            }
        }

        /// Whether a process runs. A zombie does not count: on some machines the first process never reaps its
        /// children.
        func runs(_ id: Int32) -> Bool {
            let status = try? String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)
            return status.map { !$0.contains("State:\tZ") } ?? false
        }

        /// Waits until `part` runs again under a process id other than `old`.
        func untilReplaced(_ part: String, _ old: Int32) throws -> Facts {
            let place = try ClusterPlace(environment: ["XDG_DATA_HOME": folder.path])
            // The supervisor records each part that it has started. Only a command starts another supervisor.
            let isRecorded = try EventWait.until(.now + .seconds(200), changesOf: [place.folder]) {
                let state = ClusterState.read(place)
                let parts = ["worker": state.worker, "coordinator": state.coordinator, "postgres": state.postgres]
                return part == "supervisor" || parts[part].flatMap { $0 }.map { $0.id != old } ?? false
            }
            let facts = try up()
            guard isRecorded, let now = facts.processes[part], now != old, runs(now) else {
                throw SupportError("wait for \(part)", "\(facts)")
            }
            return facts
        }
    }

    @Test func jobsAreDoneWithoutADatabaseOfOnesOwn() throws {
        let home = try Home()
        try WAVFile.write(Material.talk, to: home.folder.path("talk.wav"))
        let run = try home.run("submit", "talk.wav", "--to", "{stem}.flac", "--wait")
        #expect(run.status == .exited(0), "\(run.errorText)")
        #expect(try home.folder.names().contains("talk.flac"))
        #expect(try home.run("status").status == .exited(0))
        #expect(try home.run("doctor").status == .exited(0))
    }

    /// A script that reads the output of `sluice up` by a pipe, or holds a lock meanwhile, must not wait for the cluster's end.
    @Test func clusterKeepsNothingOpenOfItsCaller() throws {
        let home = try Home()
        let held = home.folder.path("held")
        try Data().write(to: URL(filePath: held))
        let line = "exec 7<\"$0\" 9<\"$0\" && exec \"$@\""
        let run = try Run.program(
            "/bin/sh",
            ["-c", line, held, Sluice.path, "up", "--json"],
            environment: Sluice.environment(["XDG_DATA_HOME": home.folder.path])
        )
        let facts = try JSONDecoder().decode(Home.Facts.self, from: run.checked().stdout)
        #expect(facts.processes.count == 4)
        for (part, process) in facts.processes {
            let folder = "/proc/\(process)/fd"
            let open = try FileManager.default.contentsOfDirectory(atPath: folder).compactMap { name in
                try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
            }
            let isHeld = open.contains { $0.hasSuffix("/held") }
            #expect(!open.isEmpty && !isHeld, "\(part): \(open)")
        }
    }

    /// Each attempt says it once, and starts nothing.
    @Test func missingServerIsSaidBeforeAnythingStarts() throws {
        let home = try Home()
        let place = try ClusterPlace(environment: ["XDG_DATA_HOME": home.folder.path])
        try FileManager.default.createDirectory(atPath: place.data, withIntermediateDirectories: true)
        try Data("99\n".utf8).write(to: URL(filePath: place.data + "/PG_VERSION"))
        for _ in 1...2 {
            let run = try home.run("status")
            let error = "error: the private cluster needs PostgreSQL 99, which is not installed\n"
            #expect(run.errorText == error + "hint:  apt install postgresql-99\n")
            #expect(run.status == .exited(7))
        }
    }

    @Test func downLeavesNothingRunningAndKeepsWhatWasAsked() throws {
        let home = try Home()
        let facts = try home.up("--slots", "3")
        #expect(facts.slots == 3)
        #expect(facts.processes.count == 4)
        #expect(try home.run("status").outputText.contains("1 alive (3 slots"))
        #expect(try home.run("down").status == .exited(0))
        for (part, id) in facts.processes { #expect(!home.runs(id), "\(part) runs still") }
        #expect(try home.run("down").errorText.contains("was not running"))
        let again = try home.up()
        #expect(again.slots == 3)
        #expect(Set(again.processes.values).isDisjoint(with: facts.processes.values))
    }

    @Test func slotsAreChangedWhileItRuns() throws {
        let home = try Home()
        let before = try home.up("--slots", "1")
        let after = try home.up("--slots", "2")
        #expect(try home.run("status").outputText.contains("1 alive (2 slots"))
        #expect(after.slots == 2)
        #expect(after.processes["postgres"] == before.processes["postgres"])
        #expect(after.processes["worker"] != before.processes["worker"])
    }

    @Test func itUsesFilesOfTheHomeUntilItIsGivenOtherRoots() throws {
        let home = try Home()
        for folder in [home.own, home.other] { try WAVFile.write(Material.talk, to: folder + "/talk.wav") }
        let before = try home.upAtHome()
        #expect(before.roots == ["local=\(home.own)"])
        let inside = try home.runAtHome("submit", "\(home.own)/talk.wav", "--to", "~/{stem}.flac", "--wait")
        #expect(inside.status == .exited(0), "\(inside.errorText)")
        #expect(FileManager.default.fileExists(atPath: home.own + "/talk.flac"))
        // A root that it lacks, beside those that it has.
        let waiting = try home.runAtHome("submit", "\(home.own)/talk.wav", "--to", "archive:{stem}.flac")
        let note = waiting.errorText.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(note.contains("\"sluice up --root local=\(home.own) --root archive=PATH\""), "\(note)")

        let words = ["\(home.other)/talk.wav", "--to", "\(home.other)/{stem}.flac"]
        let refused = try home.runAtHome("submit", words[0], "--to", "~/{stem}.mp3")
        #expect(refused.status != .exited(0))
        // The lines may be wrapped.
        let told = refused.errorText.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(told.contains("sluice up --root local=\(home.own) --root NAME=PATH"), "\(told)")

        let after = try home.upAtHome("--root", "local=~", "--root", "srv=\(home.other)")
        #expect(after.roots == ["local=\(home.own)", "srv=\(home.other)"] && after.slots == before.slots)
        #expect(after.processes["worker"] != before.processes["worker"])
        #expect(after.processes["coordinator"] != before.processes["coordinator"])
        let outside = try home.runAtHome("submit", words[0], words[1], words[2], "--wait")
        #expect(outside.status == .exited(0), "\(outside.errorText)")
        #expect(FileManager.default.fileExists(atPath: home.other + "/talk.flac"))

        #expect(try home.runAtHome("down").status == .exited(0))
        #expect(try home.upAtHome().roots == after.roots)
        let missing = try home.runAtHome("up", "--root", "x=\(home.folder.path("nowhere"))")
        #expect(missing.errorText.contains("no such folder"))
        #expect(try home.upAtHome().roots == after.roots)
    }

    /// Its jobs name their files from `/`.
    @Test func aClusterOfAnEarlierReleaseKeepsItsRoot() throws {
        let home = try Home()
        _ = try home.upAtHome()
        #expect(try home.runAtHome("down").status == .exited(0))
        let place = try ClusterPlace(environment: ["XDG_DATA_HOME": home.folder.path])
        var state = ClusterState.read(place)
        #expect(state.roots == ["local=\(home.own)"])
        state.roots = nil
        try state.write(place)
        #expect(try home.upAtHome().roots == ["local=/"])
    }

    @Test(arguments: ["worker", "coordinator", "postgres", "supervisor"])
    func eachPartMayBeKilled(_ part: String) throws {
        let home = try Home()
        try WAVFile.write(Material.talk, to: home.folder.path("talk.wav"))
        let facts = try home.up()
        let victim = try #require(facts.processes[part])
        #expect(kill(victim, SIGKILL) == 0)
        try home.untilGone(victim)
        let now = try home.untilReplaced(part, victim)
        if part == "supervisor" {
            // The other parts keep running.
            for other in ["postgres", "worker", "coordinator"] {
                #expect(now.processes[other] == facts.processes[other])
            }
        }
        let run = try home.run("submit", "talk.wav", "--to", "{stem}.flac", "--wait")
        #expect(run.status == .exited(0), "\(run.errorText)")
        #expect(try home.run("down").status == .exited(0))
        for id in now.processes.values { #expect(!home.runs(id)) }
    }

    /// While the server recovers from a crash, its file says `starting`.
    @Test func serverThatDoesNotTakeConnectionsYetIsWaitedFor() throws {
        let home = try Home()
        _ = try home.up()
        let cluster = try PrivateCluster(environment: ["XDG_DATA_HOME": home.folder.path])
        #expect(cluster.runningState() != nil)
        let file = "\(cluster.place.data)/postmaster.pid"
        let text = try String(contentsOfFile: file, encoding: .utf8)
        let handle = try #require(FileHandle(forUpdatingAtPath: file))
        // Written in place, so that the file keeps its inode and owner.
        try handle.write(contentsOf: Data(text.replacing("ready   ", with: "starting").utf8))
        #expect(cluster.runningState() == nil)
        try handle.seek(toOffset: 0)
        try handle.write(contentsOf: Data(text.utf8))
        #expect(cluster.runningState() != nil)
    }

    @Test func manyMayNeedItAtOnce() async throws {
        let home = try Home()
        let path = home.folder.path
        let answers = try await withThrowingTaskGroup(of: Run.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    try Run.program(
                        Sluice.path,
                        ["up", "--json"],
                        environment: Sluice.environment(["XDG_DATA_HOME": path]),
                        limit: .seconds(600)
                    )
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.allSatisfy { $0.status == .exited(0) })
        let texts: Set<String> = Set(answers.map(\.outputText))
        #expect(texts.count == 1)
    }
}
