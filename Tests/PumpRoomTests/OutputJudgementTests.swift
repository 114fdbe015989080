import Conversion
import Media
import TestSupport
import Testing

@testable import PumpRoom
@testable import RoomProgram

/// Outputs that are compared with the specs of their recipe before they are published.
struct OutputJudgementTests {
    private func recipe(_ spec: AudioSpec? = .spotify) -> Recipe {
        var recipe = Recipe(from: .init(location: "a.wav"), to: .init(location: "b.wav"))
        recipe.outputs[0].spec = spec
        return recipe
    }

    /// A finished output of a second and more at -23 LUFS in `folder`, and the report of the conversion.
    private func made(_ name: String, in folder: TemporaryFolder) throws -> (path: String, report: ConversionReport) {
        let tone = Signal.tone(1_000, rate: 48_000, frames: 96_000, channels: 2, amplitude: 0.0708)
        try WAVFile.write(tone.pcm(.s16), to: folder.path("a.wav"))
        let recipe = Recipe(from: .init(location: "a.wav"), to: .init(location: name))
        let source = try OpenFile.reading(folder.path("a.wav"))
        let output = try OpenFile.creating(folder.path(name))
        return (folder.path(name), try RecipeConversion(recipe).run(from: source.descriptor, to: output.descriptor))
    }

    @discardableResult
    private func judge(
        _ recipe: Recipe,
        _ destinations: [Int32],
        _ reports: [ConversionReport],
        within budget: Budget = Budget(),
        stop signal: StopSignal = StopSignal()
    ) throws -> [ConversionReport] {
        let judgement = try OutputJudgement(recipe, destinations, within: budget, streaming: false, stop: signal)
        return try judgement.run(on: reports, after: nil) { _ in }
    }

    @Test func outputsWithoutReportsAreNotPublished() throws {
        let failure = try #require(throws: Failure.self) { try judge(recipe(), [-1], []) }
        #expect(failure.known == .unexpected && failure.message.contains("1 outputs, 1 destinations, 0 reports"))
        // Without a spec there is nothing to judge, and without a destination an output is not written.
        try judge(recipe(nil), [-1], [])
        try judge(recipe(), [], [])
    }

    /// Silence in place of the damage would keep all limits.
    @Test func aDamagedOutputIsNotPublished() throws {
        let folder = try TemporaryFolder.create()
        let (path, report) = try made("b.flac", in: folder)
        let whole = try OpenFile.reading(path)
        // What was measured of an output that passes stays in its report.
        let judged = try judge(recipe(.ebuR128), [whole.descriptor], [report])
        let spec = try #require(judged.first?.spec)
        #expect(spec.passes && spec.spec == "ebu-r128" && spec.measured.map(\.rule) == ["loudness", "true_peak"])
        #expect(judged[0].isCredible(within: JobBounds()))
        var bytes = try Bytes.read(path)
        for place in bytes.count / 2..<bytes.count / 2 + 64 { bytes[place] ^= 0x5A }
        try Bytes.write(bytes, to: folder.path("damaged.flac"))
        let damaged = try OpenFile.reading(folder.path("damaged.flac"))
        let failure = try #require(throws: Failure.self) {
            try judge(recipe(.ebuR128), [damaged.descriptor], [report])
        }
        #expect(failure.known == .verifyMismatch && failure.message.hasPrefix("the output cannot be decoded: "))
    }

    /// The packets of an output may be those of the source, of which the conversion counts only what they state.
    @Test func theLimitsOfTheJobCountForTheComparison() throws {
        let folder = try TemporaryFolder.create()
        let (path, report) = try made("b.flac", in: folder)
        let output = try OpenFile.reading(path)
        func failure(_ budget: Budget, stop signal: StopSignal = StopSignal()) throws -> Failure {
            try #require(throws: Failure.self) {
                try judge(recipe(.ebuR128), [output.descriptor], [report], within: budget, stop: signal)
            }
        }
        let long = try failure(Budget(decodedSeconds: 1))
        #expect(long.known == .decodedSecondsExceeded && long.stage == Failure.Stage.finish.rawValue)
        let slow = try failure(Budget(cpuSeconds: 0))
        #expect(slow.known == .cpuExceeded && slow.stage == Failure.Stage.finish.rawValue)
        let stopped = StopSignal()
        stopped.stop()
        #expect(try failure(Budget(), stop: stopped).known == .cancelled)
        try judge(recipe(.ebuR128), [output.descriptor], [report], within: Budget(decodedSeconds: 2))
    }

    /// Those who mend one output see what is wrong with the others as well.
    @Test func theFailureHasTheLimitsOfAllOutputsAndWhereToListen() throws {
        let folder = try TemporaryFolder.create()
        let (path, report) = try made("b.flac", in: folder)
        let output = try OpenFile.reading(path)
        var recipe = recipe(.ebuR128)
        for spec in [AudioSpec.spotify, .applePodcast] {
            recipe.outputs.append(.init(location: "\(spec.rawValue).flac"))
            recipe.outputs[recipe.outputs.count - 1].spec = spec
        }
        let descriptors = Array(repeating: output.descriptor, count: 3)
        let failure = try #require(throws: Failure.self) {
            try judge(recipe, descriptors, [report, report, report])
        }
        #expect(failure.known == .specBroken && failure.output == 2)
        let first = "the output breaks 1 limit of spotify: loudness -2"
        let second = "; output 3 breaks 1 limit of apple-podcast: loudness -2"
        #expect(failure.message.hasPrefix(first) && failure.message.contains(second), "\(failure.message)")
        #expect(failure.message.contains(" LUFS at 0:00"), "\(failure.message)")
        let hint = try #require(failure.hint)
        #expect(hint.contains("sluice probe --spec spotify") && hint.contains("--loudness"), "\(hint)")
    }
}
