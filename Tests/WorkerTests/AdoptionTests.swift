import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// Jobs whose publication the ledger has lost, as after a failover that lost commits.
struct AdoptionTests {
    private static func placements(_ lab: WorkerLab) throws -> [String: Int] {
        let rows = try lab.sql(
            "select coalesce(placement::text, state::text), count(*) from \(lab.schema).finished group by 1"
        )
        return Dictionary(
            uniqueKeysWithValues: rows.split(separator: "\n").map { row in
                let parts = row.split(separator: "|")
                return (String(parts[0]), Int(parts[1]) ?? -1)
            }
        )
    }

    private static func inodes(_ lab: WorkerLab) throws -> [String: UInt64] {
        var found: [String: UInt64] = [:]
        for name in try lab.outputs() {
            let facts = try FileManager.default.attributesOfItem(atPath: lab.path("out/\(name)"))
            found[name] = (facts[.systemFileNumber] as? NSNumber)?.uint64Value
        }
        return found
    }

    @Test func markedOutputIsAdoptedWithoutConvertingItAgain() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        let worker = try lab.worker()
        let jobs = try await lab.submit([
            WorkerLab.recipe(to: "out:fail.flac"), WorkerLab.recipe(to: "out:skip.flac", onConflict: .skip),
        ])
        try await lab.wait(for: 2, "completed")
        let digests = try lab.sql("select job, digest, size from \(lab.schema).finished order by job")
        let before = try Self.inodes(lab)
        try lab.forgetFinishedJobs()
        try await lab.wait(for: 2, "completed")
        #expect(try Self.placements(lab) == ["adopted": 2])
        #expect(try lab.sql("select job, digest, size from \(lab.schema).finished order by job") == digests)
        #expect(try Self.inodes(lab) == before, "the files are the same, and there are no others")
        #expect(try lab.sql("select distinct frames_out from \(lab.schema).attempt") == "", "nothing was converted")
        try await worker.stopsWell()
        #expect(worker.lines("attempt").count { $0.outcome == "completed" && $0.reason == "adopted" } == 2)

        let address = ["--database", lab.url, "--schema", lab.schema.text]
        let page = try Sluice.run(["job", "\(jobs[0])"] + address).checked().outputText
        #expect(page.contains("   adopted: an earlier attempt published it"))
        let record = try Sluice.run(["job", "\(jobs[0])", "--json"] + address).checked().outputText
        #expect(record.contains("\"placement\":\"adopted\""))
    }

    /// The mark on an output includes the recipe and the source, because job numbers can be issued again.
    @Test func outputOfAnotherSourceIsComparedAndNotAdopted() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        let worker = try lab.worker()
        try await lab.submit(2)
        try await lab.wait(for: 2, "completed")
        let before = try Self.inodes(lab)
        try lab.addSource(seed: 8)
        try lab.forgetFinishedJobs()
        try await lab.wait(for: 2, "failed")
        #expect(try lab.attempts() == ["failed destination_exists": 2])
        // The source was rewritten with the same content, so comparing the outputs decides.
        try lab.addSource()
        try await lab.ledger.apply(.retry, to: JobFilter(states: [.failed]))
        try await lab.wait(for: 2, "completed")
        #expect(try Self.placements(lab) == ["adopted": 2])
        #expect(try Self.inodes(lab) == before)
        try await worker.stopsWell()
    }

    @Test func fileOfAnotherOriginIsNotAdopted() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        let worker = try lab.worker()
        try await lab.submit(3)
        try await lab.wait(for: 3, "completed")
        // The same bytes in a file without a mark, altered bytes in the job's own file, and another job's file.
        let bytes = try Bytes.read(lab.path("out/a0.flac"))
        try FileManager.default.removeItem(atPath: lab.path("out/a0.flac"))
        try Bytes.write(bytes, to: lab.path("out/a0.flac"))
        let file = try #require(FileHandle(forUpdatingAtPath: lab.path("out/a1.flac")))
        try file.write(contentsOf: Data("sLaC".utf8))
        try file.close()
        #expect(rename(lab.path("out/a1.flac"), lab.path("out/altered")) == 0)
        #expect(rename(lab.path("out/a2.flac"), lab.path("out/a1.flac")) == 0)
        #expect(rename(lab.path("out/altered"), lab.path("out/a2.flac")) == 0)
        let before = try Self.inodes(lab)
        try lab.forgetFinishedJobs()
        try await lab.wait(for: 3, "failed")
        #expect(try lab.attempts() == ["failed destination_exists": 3])
        #expect(try Self.inodes(lab) == before)
        try await worker.stopsWell()
    }

    @Test(.enabled(if: Attributeless.isPossible, "no ramfs can be mounted here"))
    func whereNoMarksAreKeptTheOutputIsMadeAgainAndCompared() async throws {
        let lab = try await WorkerLab()
        try Attributeless.mount(at: lab.path("out"))
        defer { Attributeless.unmount(lab.path("out")) }
        try lab.addSource()
        let worker = try lab.worker()
        try await lab.submit(3)
        try await lab.wait(for: 3, "completed")
        try Bytes.write(Array("theirs".utf8), to: lab.path("out/a2.flac"))
        let before = try Self.inodes(lab)
        try lab.forgetFinishedJobs()
        try await lab.wait("all have ended") { try lab.truth() == ["completed": 2, "failed": 1] }
        #expect(try Self.placements(lab) == ["adopted": 2, "failed": 1])
        #expect(try lab.attempts() == ["completed": 2, "failed destination_exists": 1])
        #expect(try Self.inodes(lab) == before)
        #expect(try lab.sql("select min(frames_out) from \(lab.schema).attempt where outcome = 'completed'") == "4000")
        try await worker.stopsWell()
    }
}
