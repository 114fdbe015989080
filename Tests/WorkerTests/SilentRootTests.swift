import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// Workers with two roots, of which the file system of one stops to answer, as a network file system does whose server
/// is silent: calls to its files do not return from the kernel.
@Suite(.enabled(if: MirroredFolder.isPossible, "no FUSE file system can be mounted here"), .serialized)
struct SilentRootTests {
    /// A lab with the roots `quick` and `silent`, each with its source. Jobs stay in their root.
    private static func lab(lease: String = "600 s", publishGrace: String = "60 s") async throws -> WorkerLab {
        let lab = try await WorkerLab(lease: lease, publishGrace: publishGrace)
        for root in ["quick", "silent"] {
            try FileManager.default.createDirectory(atPath: lab.path(root), withIntermediateDirectories: false)
            try lab.addSource("../\(root)/talk.wav")
            try lab.addLongSource("../\(root)/long.wav", seconds: 900)
        }
        return lab
    }

    private static func worker(
        in lab: WorkerLab,
        _ grace: String = "30s",
        isSilent: Bool = false
    ) throws -> (WorkerProcess, Mirror) {
        let mirror = MirroredFolder.words(at: lab.path("silent"), "", isSilent: isSilent)
        let worker = try lab.worker(
            "--slots",
            "2",
            "--grace",
            grace,
            roots: ["quick", "silent"],
            behind: mirror
        )
        return (worker, Mirror(of: worker))
    }

    @discardableResult
    private static func submit(
        _ count: Int,
        in root: String,
        _ name: String = "talk",
        to lab: WorkerLab
    ) async throws -> Int {
        let isLong = name == "long"
        let requests = (0..<count).map { number in
            JobRequest(
                WorkerLab.recipe("\(root):\(name).wav", to: "\(root):\(name)\(number).\(isLong ? "mp3" : "flac")"),
                needs: [isLong ? "codec:mp3" : "codec:flac", "root:\(root)"]
            )
        }
        _ = try await lab.ledger.submit(Submission(), requests)
        return count
    }

    /// Checks that each root has the outputs of its jobs, the same in both, and nothing else.
    private static func checkOutputs(of lab: WorkerLab) throws {
        let (quick, silent) = (try sums(in: "quick", of: lab), try sums(in: "silent", of: lab))
        #expect(Set(quick.values).count == 1 && Set(silent.values) == Set(quick.values))
        for root in ["quick", "silent"] {
            let names = try FileManager.default.subpathsOfDirectory(atPath: lab.path(root))
            let hidden = names.filter { $0.split(separator: "/").last?.hasPrefix(".") == true }
            #expect(hidden == [], "nothing hidden is left in \(root)")
        }
        #expect(try lab.sql("select count(*) from \(lab.schema).attempt where outcome = 'failed'") == "0")
        #expect(try lab.sql("select count(*) from \(lab.schema).finished where spent > 1") == "0")
    }

    private static func sums(in root: String, of lab: WorkerLab) throws -> [String: String] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: lab.path(root)).filter { $0.hasSuffix(".flac") }
        let text = try Run.program("sha256sum", names.map { lab.path("\(root)/\($0)") }).checked().outputText
        let sums = text.split(separator: "\n").map { String($0.prefix(64)) }
        return Dictionary(uniqueKeysWithValues: zip(names, sums))
    }

    /// Jobs of both roots in the ledger, by state.
    private static func states(of root: String, in lab: WorkerLab) throws -> String {
        try lab.sql(
            """
            with place as (
                select job, 'waiting' as state from \(lab.schema).waiting
                union all select job, 'delayed' from \(lab.schema).delayed
                union all select job, 'running' from \(lab.schema).running
                union all select job, 'publishing' from \(lab.schema).publishing
                union all select job, state::text from \(lab.schema).finished)
            select string_agg(distinct state, ' ') from place join \(lab.schema).job j on j.id = place.job
            where j.recipe::text like '%"\(root):%'
            """
        )
    }

    @Test func jobsOfOtherRootsGoOnAndThoseOfTheSilentOneGoBackUnspent() async throws {
        let lab = try await Self.lab()
        let (worker, mirror) = try Self.worker(in: lab)
        defer { mirror.answer() }
        try await worker.waits(for: "rooms")
        var count = try await Self.submit(2, in: "silent", "long", to: lab)
        try await lab.waitForMovement(2)
        try mirror.stopAnswering()
        count += try await Self.submit(30, in: "silent", to: lab)
        count += try await Self.submit(60, in: "quick", to: lab)
        try await lab.wait("the jobs of the other root are completed") {
            try Self.states(of: "quick", in: lab) == "completed"
        }
        try await lab.wait("the jobs of the silent root are in the ledger") {
            try Self.states(of: "silent", in: lab) == "waiting"
        }
        #expect(worker.lines("paused").map(\.root) == ["silent"])
        #expect(try lab.sql("select max(spent) from \(lab.schema).waiting") == "0")
        let status = try #require(try await lab.ledger.workers().first)
        let roots: [String] = status.abilities.filter { $0.hasPrefix("root:") }
        #expect(roots == ["root:quick"])
        // More jobs come while it is silent.
        count += try await Self.submit(1, in: "quick", "long", to: lab)
        try await lab.wait("a long job is completed") { try Self.states(of: "quick", in: lab) == "completed" }
        mirror.answer()
        try await lab.wait(for: count, "completed")
        try Self.checkOutputs(of: lab)
        try await worker.stopsWell()
    }

    /// The file system stops to answer while jobs are in all states, several times.
    @Test func hangsAtAnyMomentLoseNothing() async throws {
        let lab = try await Self.lab(lease: "2 s", publishGrace: "1 s")
        let (worker, mirror) = try Self.worker(in: lab)
        defer { mirror.answer() }
        try await worker.waits(for: "rooms")
        var count = 0
        for round in 1...2 {
            count += try await Self.submitMore(200, in: "silent", round, to: lab)
            try await lab.wait("some are completed") { try lab.truth()["completed", default: 0] > count - 190 }
            try mirror.stopAnswering()
            count += try await Self.submitMore(50, in: "quick", round, to: lab)
            try await lab.wait("the jobs of the other root are completed") {
                try Self.states(of: "quick", in: lab) == "completed"
            }
            try await worker.waits(for: "paused", round)
            mirror.answer()
            try await lab.wait(for: count, "completed")
        }
        try Self.checkOutputs(of: lab)
        try await worker.stopsWell()
    }

    private static func submitMore(_ count: Int, in root: String, _ round: Int, to lab: WorkerLab) async throws -> Int {
        let requests = (0..<count).map { number in
            JobRequest(
                WorkerLab.recipe("\(root):talk.wav", to: "\(root):r\(round)/a\(number).flac"),
                needs: ["codec:flac", "root:\(root)"]
            )
        }
        _ = try await lab.ledger.submit(Submission(), requests)
        return count
    }

    /// The attempt's file has its name, and the ledger has ordered the publication, when the file system falls silent.
    @Test func publicationThatHangsIsCompletedOnceTheRootAnswers() async throws {
        let lab = try await Self.lab(lease: "2 s", publishGrace: "1 s")
        let (worker, mirror) = try Self.worker(in: lab)
        defer { mirror.answer() }
        try await worker.waits(for: "rooms")
        try await lab.whilePublicationsWait(on: "publishing") {
            try await Self.submit(1, in: "silent", to: lab)
            try await lab.wait("an output has its attempt's name") {
                try FileManager.default.contentsOfDirectory(atPath: lab.path("silent")).contains {
                    $0.hasSuffix(".attempt")
                }
            }
            try await lab.wait("the call to the ledger waits") {
                try lab.sql("select count(*) from pg_locks where not granted") != "0"
            }
            try mirror.stopAnswering()
        }
        try await lab.wait("the publication is ordered") { try Self.states(of: "silent", in: lab) == "publishing" }
        try await Self.submit(20, in: "quick", to: lab)
        try await lab.wait("the jobs of the other root are completed") {
            try Self.states(of: "quick", in: lab) == "completed"
        }
        #expect(try Self.states(of: "silent", in: lab) == "publishing")
        mirror.answer()
        try await lab.wait(for: 21, "completed")
        try Self.checkOutputs(of: lab)
        try await worker.stopsWell()
    }

    @Test(arguments: [false, true])
    func stopEndsInTimeAndHandsJobsBack(isKnownAsSilent: Bool) async throws {
        let lab = try await Self.lab()
        let (worker, mirror) = try Self.worker(in: lab, "2s")
        defer { mirror.answer() }
        try await worker.waits(for: "rooms")
        try await Self.submit(2, in: "silent", "long", to: lab)
        try await lab.waitForMovement(2)
        try await Self.submit(20, in: "silent", to: lab)
        try mirror.stopAnswering()
        if isKnownAsSilent { try await worker.waits(for: "paused") }
        // A stop that waited for the root would never end. The service manager is asked for 15 seconds more than the
        // grace period, which a busy machine may exceed.
        try await worker.stopsWell(within: .seconds(300))
        #expect(try Self.states(of: "silent", in: lab) == "waiting")
        #expect(try lab.sql("select max(spent) from \(lab.schema).waiting") == "0")
    }

    @Test func rootThatIsSilentAtTheStartHoldsUpNothing() async throws {
        let lab = try await Self.lab()
        let (worker, mirror) = try Self.worker(in: lab, isSilent: true)
        defer { mirror.answer() }
        let count = try await Self.submit(20, in: "silent", to: lab) + Self.submit(20, in: "quick", to: lab)
        try await lab.wait("the jobs of the other root are completed") {
            try Self.states(of: "quick", in: lab) == "completed"
        }
        try await worker.waits(for: "paused")
        #expect(worker.lines("paused").map(\.root) == ["silent"])
        #expect(try Self.states(of: "silent", in: lab) == "waiting")
        let status = try #require(try await lab.ledger.workers().first)
        let roots: [String] = status.abilities.filter { $0.hasPrefix("root:") }
        #expect(roots == ["root:quick"])
        mirror.answer()
        try await lab.wait(for: count, "completed")
        try Self.checkOutputs(of: lab)
        try await worker.stopsWell()
    }

    @Test func stopEndsInTimeWhileARootIsSilentSinceTheStart() async throws {
        let lab = try await Self.lab()
        let (worker, mirror) = try Self.worker(in: lab, "2s", isSilent: true)
        defer { mirror.answer() }
        try await worker.waits(for: "rooms")
        try await worker.stopsWell(within: .seconds(300))
    }

    /// Registers a worker that exists in the ledger alone.
    private static func registerAnother(in lab: WorkerLab, _ roots: [String]) async throws -> WorkerEntry {
        let abilities = ["codec:flac"] + roots
        let other = WorkerRegistration(name: "other", host: "h", build: "1", slots: 2, abilities: abilities)
        return try await lab.ledger.register(other)
    }

    /// That of a private cluster also serves files of its roots.
    @Test(arguments: [false, true])
    func coordinatorStartsAndStopsWhileARootIsSilent(isPrivate: Bool) async throws {
        let lab = try await Self.lab()
        let mirror = MirroredFolder.words(at: lab.path("silent"), "", isSilent: true)
        var words = ["--root", "silent=\(lab.path("silent"))"]
        var before = mirror
        if isPrivate {
            let links = lab.path("links")
            try FileManager.default.createDirectory(atPath: links, withIntermediateDirectories: false)
            words += ["--listen", "0"]
            before += ["env", "SLUICE_PAGE_LINKS=\(links)"]
        }
        let coordinator = try lab.coordinator(words, behind: before)
        defer { Mirror(of: coordinator).answer() }
        try await coordinator.waits(for: "started")
        #expect(coordinator.lines("trouble").map { $0.failure?.code } == ["storage_unavailable"])
        try await coordinator.stopsWell(within: .seconds(300))
    }

    /// Publications are left in two roots, and one of these falls silent before the coordinator completes them.
    @Test func coordinatorCompletesWhatIsLeftInOtherRoots() async throws {
        let lab = try await Self.lab(lease: "2 s", publishGrace: "1 s")
        let names = ["quick", "silent"]
        let other = try await Self.registerAnother(in: lab, ["root:quick", "root:silent"])
        for name in names {
            let recipe = WorkerLab.recipe("\(name):talk.wav", to: "\(name):left.flac")
            _ = try await lab.ledger.submit(Submission(), [JobRequest(recipe, needs: ["root:\(name)"])])
        }
        let claims = try await lab.ledger.claim(2, for: other.worker).jobs
        try #require(claims.count == 2)
        let left = try claims.map { claim in
            let name = claim.recipe.outputs[0].location.hasPrefix("quick") ? "quick" : "silent"
            return try LeftBehind.publish([claim], in: lab.path(name))[0]
        }
        let mirror = MirroredFolder.words(at: lab.path("silent"), "")
        let coordinator = try lab.coordinator(
            "--root",
            "quick=\(lab.path("quick"))",
            "--root",
            "silent=\(lab.path("silent"))",
            behind: mirror
        )
        let disk = Mirror(of: coordinator)
        defer { disk.answer() }
        try await coordinator.waits(for: "started")
        try disk.stopAnswering()
        #expect(try await lab.ledger.publish(left) == [.done, .done])
        try await lab.wait("the job of the other root is completed") {
            try Self.states(of: "quick", in: lab) == "completed"
        }
        #expect(try Self.states(of: "silent", in: lab) == "publishing")
        #expect(coordinator.lines("trouble").contains { $0.failure?.code == "storage_unavailable" })
        disk.answer()
        try await lab.wait(for: 2, "completed")
        try disk.stopAnswering()
        try await coordinator.stopsWell(within: .seconds(300))
    }

    @Test func doctorNamesASilentRootAndEnds() async throws {
        let lab = try await Self.lab()
        let doctor =
            [WorkerProcess.program, "doctor", "--root", "quick=\(lab.path("quick"))"]
            + ["--root", "silent=\(lab.path("silent"))"]
        let words = MirroredFolder.words(at: lab.path("silent"), "", isSilent: true) + doctor
        let run = try Run.program(words[0], Array(words.dropFirst()), environment: ["SLUICE_DATABASE_URL": lab.url])
        #expect(run.outputText.contains("the file system at \(lab.path("silent")) has not answered for 10 s"))
        #expect(run.outputText.contains("root quick") && run.status != .exited(0))
    }

    /// Another worker left a publication and litter in the root that answers.
    @Test func choresOfOtherRootsGoOn() async throws {
        let lab = try await Self.lab(lease: "2 s", publishGrace: "1 s")
        let (worker, mirror) = try Self.worker(in: lab)
        defer { mirror.answer() }
        try await worker.waits(for: "rooms")
        try await Self.submit(1, in: "silent", "long", to: lab)
        try await lab.waitForMovement()
        try mirror.stopAnswering()
        let other = try await Self.registerAnother(in: lab, ["root:quick", "root:elsewhere"])
        _ = try await lab.ledger.submit(
            Submission(),
            [JobRequest(WorkerLab.recipe("elsewhere:talk.wav", to: "quick:left.flac"), needs: ["root:elsewhere"])]
        )
        let claims = try await lab.ledger.claim(1, for: other.worker).jobs
        try #require(claims.count == 1)
        let left = try LeftBehind.publish(claims, in: lab.path("quick"))
        #expect(try await lab.ledger.publish([left[0]]) == [.done])
        try await worker.waits(for: "finished_for_others")
        #expect(FileManager.default.fileExists(atPath: lab.path("quick/left.flac")))
        mirror.answer()
        try await worker.stopsWell()
    }
}

/// The process of a mirrored folder's file system, which can be made to answer no call.
private final class Mirror: Sendable {
    private let worker: WorkerProcess

    init(of worker: WorkerProcess) { self.worker = worker }

    private func processes() throws -> [pid_t] {
        try Run.program("pgrep", ["-P", "\(worker.id)", "bindfs"]).outputText.split(separator: "\n")
            .compactMap { pid_t($0) }
    }

    func stopAnswering() throws {
        let processes = try processes()
        #expect(processes.count == 1)
        for process in processes { _ = Foundation.kill(process, SIGSTOP) }
    }

    /// Answers again, also the calls that wait. Without it, the worker's threads could not be killed.
    func answer() {
        // If the worker has ended, the file system has ended with it.
        for process in (try? processes()) ?? [] { _ = Foundation.kill(process, SIGCONT) }
    }
}
