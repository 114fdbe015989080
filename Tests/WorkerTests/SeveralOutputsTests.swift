import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// Jobs with several outputs: one decode, and all outputs appear or none.
struct SeveralOutputsTests {
    private static let names = ["a.flac", "a.opus", "deep/a.wav"]

    private static func recipe(
        _ names: [String] = names,
        onConflict: Recipe.ConflictPolicy = .fail
    ) -> Recipe {
        Recipe(
            sources: [.init(location: "in:talk.wav")],
            outputs: names.map { .init(location: "out:\($0)", onConflict: onConflict) }
        )
    }

    /// What the ledger has recorded of a finished job: `SHA-256 size` for each output.
    private static func records(_ lab: WorkerLab) throws -> [String] {
        let rows = try lab.sql(
            """
            select encode(f.digest, 'hex') || ' ' || f.size from \(lab.schema).finished f
            union all
            select coalesce(o ->> 'digest' || ' ' || (o ->> 'bytes'), '-') from \(lab.schema).finished f,
                jsonb_array_elements(f.further) o
            """
        )
        return rows.split(separator: "\n").map(String.init)
    }

    private static func record(_ path: String) throws -> String {
        let sum = try Run.program("sha256sum", [path]).checked().outputText.prefix(64)
        return "\(sum) \(try Bytes.read(path).count)"
    }

    @Test func oneJobMakesAllOutputs() async throws {
        let lab = try await WorkerLab()
        try lab.addSource(frames: 8_000)
        let jobs = try await lab.submit([Self.recipe()])
        let worker = try lab.worker()
        try await lab.wait(for: 1, "completed")
        try await worker.stopsWell()
        #expect(try lab.outputs() == ["a.flac", "a.opus", "deep", "deep/a.wav"])
        #expect(try Self.records(lab) == Self.names.map { try Self.record(lab.path("out/\($0)")) })
        // Each is what a conversion of its own makes.
        for name in Self.names {
            let alone = lab.path("alone-\(name.replacing("/", with: "-"))")
            _ = try Sluice.run(["convert", lab.path("in/talk.wav"), alone]).checked()
            #expect(try Bytes.read(alone) == Bytes.read(lab.path("out/\(name)")), "\(name)")
        }
        #expect(try lab.sql("select count(*) from \(lab.schema).attempt") == "1")

        let address = ["--database", lab.url, "--schema", lab.schema.text]
        let page = try Sluice.run(["job", "\(jobs[0])"] + address).checked().outputText
        for record in try Self.records(lab) { #expect(page.contains("sha256 \(record.prefix(64))"), "\(page)") }
        let roots = ["--root", "in=\(lab.path("in"))", "--root", "out=\(lab.path("out"))"]
        let check = try Sluice.run(["check", "--all"] + address + roots).checked().outputText
        #expect(check.hasPrefix("3 outputs checked, "), "\(check)")
        #expect(check.hasSuffix(": 3 unchanged\n"), "\(check)")
    }

    @Test func aDamagedOutputIsFoundAndMadeAgain() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        try await lab.submit([Self.recipe()])
        let worker = try lab.worker()
        try await lab.wait(for: 1, "completed")
        let good = try Bytes.read(lab.path("out/a.opus"))
        try Bytes.write(Array(good.dropLast()), to: lab.path("out/a.opus"))
        try FileManager.default.removeItem(atPath: lab.path("out/deep/a.wav"))
        let words = [
            "check", "--all", "--repair", "--yes", "--root", "out=\(lab.path("out"))", "--database", lab.url,
            "--schema",
            lab.schema.text,
        ]
        let check = try Sluice.run(words)
        #expect(check.status == .exited(3))
        #expect(check.outputText.contains("1 unchanged, 1 missing, 1 with a different size"), "\(check.outputText)")
        #expect(check.outputText.contains("\"repair\"  1 job\n"), "\(check.outputText)")
        try await lab.wait(for: 2, "completed")
        #expect(try Bytes.read(lab.path("out/a.opus")) == good)
        // A file of two jobs is compared once, with the record of the job that made it last.
        let again = try Sluice.run(words).checked().outputText
        #expect(again.hasPrefix("3 outputs checked, "), "\(again)")
        try await worker.stopsWell()
    }

    @Test(arguments: names)
    func aDestinationThatIsTakenStopsAll(taken: String) async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        try FileManager.default.createDirectory(atPath: lab.path("out/deep"), withIntermediateDirectories: true)
        try Bytes.write([1, 2, 3], to: lab.path("out/\(taken)"))
        try await lab.submit([Self.recipe()])
        let worker = try lab.worker()
        try await lab.wait(for: 1, "failed")
        #expect(try lab.attempts() == ["failed destination_exists": 1])
        #expect(try lab.outputs() == Set(["deep", taken]).sorted())
        try await worker.stopsWell()
    }

    @Test func missingOutputsAreMadeAndOthersLeftAlone() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        try Bytes.write([1, 2, 3], to: lab.path("out/a.flac"))
        try await lab.submit([Self.recipe(onConflict: .skip)])
        let worker = try lab.worker()
        try await lab.wait(for: 1, "completed")
        #expect(try Bytes.read(lab.path("out/a.flac")) == [1, 2, 3])
        #expect(
            try Self.records(lab) == ["a.opus", "deep/a.wav"].map { try Self.record(lab.path("out/\($0)")) }
        )
        let numbers = "select report -> 'outputNumbers' from \(lab.schema).attempt"
        #expect(try lab.sql(numbers) == "[2, 3]")
        try await lab.submit([Self.recipe(onConflict: .skip)])
        try await lab.wait(for: 1, "skipped")
        try await worker.stopsWell()
    }

    /// After a failover that lost commits, the job finds what it has published, and makes what is missing.
    @Test func ownOutputsAreAdoptedOneByOne() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        let worker = try lab.worker()
        try await lab.submit([Self.recipe()])
        try await lab.wait(for: 1, "completed")
        let records = try Self.records(lab)
        try FileManager.default.removeItem(atPath: lab.path("out/a.opus"))
        try lab.forgetFinishedJobs()
        try await lab.wait(for: 1, "completed")
        #expect(try Self.records(lab) == records)
        #expect(try Self.names.map { try Self.record(lab.path("out/\($0)")) } == records)
        try lab.forgetFinishedJobs()
        try await lab.wait(for: 1, "completed")
        #expect(try lab.sql("select placement from \(lab.schema).finished") == "adopted")
        #expect(try Self.records(lab) == records)
        try await worker.stopsWell()
    }

    /// A worker dies after the ledger has recorded the publication, before, between and after the names.
    @Test(arguments: 0...3)
    func anotherWorkerFinishesWhatADeadOneLeft(named: Int) async throws {
        let lab = try await WorkerLab(publishGrace: "1 s")
        let names = ["x.flac", "y.opus", "z.wav"]
        try await lab.submit([Self.recipe(names)])
        let entry = try await lab.ledger.register(
            WorkerRegistration(name: "gone", host: "h", build: "1", slots: 1, abilities: ["root:in", "root:out"])
        )
        let claim = try #require(try await lab.ledger.claim(1, for: entry.worker).jobs.first)
        var publications = try LeftBehind.publish([claim], in: lab.path("out"))
        let files = try LeftBehind.further(of: claim, in: lab.path("out"))
        publications[0].further = files
        #expect(try await lab.ledger.publish(publications) == [.done])
        for name in names.prefix(named) {
            let hidden = LeftBehind.hidden(claim, name)
            #expect(rename(lab.path("out/\(hidden)"), lab.path("out/\(name)")) == 0)
        }
        try await lab.wait("the publication is late") {
            try lab.sql("select handed_at < now() - interval '1 s' from \(lab.schema).publishing") == "t"
        }
        let elsewhere = try await lab.ledger.takeUnfinished(in: ["in"])
        #expect(elsewhere.isEmpty, "handed to a process without the root")
        let worker = try lab.worker()
        try await lab.wait(for: 1, "completed")
        #expect(try lab.outputs() == names)
        #expect(try Self.records(lab) == names.map { try Self.record(lab.path("out/\($0)")) })
        try await worker.stopsWell()
    }
}
