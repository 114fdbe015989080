import Conversion
import Foundation
import TestSupport
import Testing

/// What the rules in `--root NAME=PATH:RULES` forbid submitters.
struct RootRuleTests {
    @Test func aJobCannotReplaceASourceInAReadOnlyRoot() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        let before = try Bytes.read(lab.path("in/talk.wav"))
        let worker = try lab.worker(
            "--root",
            "in=\(lab.path("in")):ro",
            "--root",
            "out=\(lab.path("out")):create,ext=flac",
            roots: []
        )
        try await worker.waits(for: "takes")
        #expect(
            worker.lines("takes").first?.roots == [
                "in=\(lab.path("in")):ro", "out=\(lab.path("out")):create,ext=flac",
            ]
        )
        var replacing = WorkerLab.recipe("in:talk.wav", to: "in:talk.wav")
        replacing.outputs[0].onConflict = .replace
        var script = WorkerLab.recipe("in:talk.wav", to: "out:run.sh")
        script.outputs[0].format = AudioFormat(container: .raw, codec: .pcm)
        let fine = WorkerLab.recipe("in:talk.wav", to: "out:talk.flac")
        let jobs = try await lab.submit([replacing, script, fine])
        try await lab.wait("all have ended") { try lab.truth() == ["completed": 1, "failed": 2] }
        let codes = try lab.sql(
            "select job, code, class from \(lab.schema).finished where state = 'failed' order by job"
        )
        #expect(codes == "\(jobs[0])|root_forbids|permanent\n\(jobs[1])|root_forbids|permanent")
        #expect(try Bytes.read(lab.path("in/talk.wav")) == before)
        #expect(try FileManager.default.contentsOfDirectory(atPath: lab.path("out")).sorted() == ["talk.flac"])
        try await worker.stopsWell()
    }

    @Test func anOutputIsForThoseWhoMayReadItsSource() async throws {
        let lab = try await WorkerLab()
        for (name, mode) in [("secret.wav", 0o600), ("open.wav", 0o644)] as [(String, mode_t)] {
            try lab.addSource(name)
            #expect(chmod(lab.path("in/\(name)"), mode) == 0)
        }
        let worker = try lab.worker()
        try await lab.submit(["secret", "open"].map { WorkerLab.recipe("in:\($0).wav", to: "out:\($0).flac") })
        try await lab.wait(for: 2, "completed")
        try await worker.stopsWell()
        for (name, mode) in [("secret.flac", 0o600), ("open.flac", 0o644)] {
            let attributes = try FileManager.default.attributesOfItem(atPath: lab.path("out/\(name)"))
            #expect(attributes[.posixPermissions] as? Int == mode, "\(name)")
        }
    }
}
