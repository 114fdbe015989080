import Conversion
import Ledger
import TestSupport
import Testing

/// Jobs whose outputs must be accepted by a publisher.
struct SpecJobTests {
    private static func recipe(_ name: String, _ spec: AudioSpec) -> Recipe {
        var recipe = WorkerLab.recipe("in:a.wav", to: "out:\(name)")
        recipe.outputs[0].loudness = LoudnessGoal(target: .named(.broadcast))
        recipe.outputs[0].spec = spec
        return recipe
    }

    @Test func anOutputThatBreaksALimitIsNotPublished() async throws {
        let lab = try await WorkerLab()
        try lab.addSource("a.wav", frames: 40_000)
        let jobs = try await lab.submit([Self.recipe("good.flac", .ebuR128), Self.recipe("bad.flac", .spotify)])
        let worker = try lab.worker()
        try await lab.wait(for: 1, "completed")
        try await lab.wait(for: 1, "failed")
        #expect(try lab.outputs() == ["good.flac"])
        let failure = try #require(try await lab.failure(jobs[1]))
        #expect(failure.known == .specBroken && failure.kind == .permanent && failure.stage == "finish")
        let limits = "the output breaks 1 limit of spotify: loudness -2"
        #expect(failure.message.hasPrefix(limits) && failure.message.hasSuffix("(allowed: -15 to -13 LUFS)"))
        // It is not tried again.
        #expect(try lab.attempts() == ["completed": 1, "failed \(FailureCode.specBroken.rawValue)": 1])
        try await worker.stopsWell()
    }
}
