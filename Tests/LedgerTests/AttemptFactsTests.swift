import Conversion
import Testing

@testable import Ledger

/// What an attempt tells of its outputs.
struct AttemptFactsTests {
    private static func report(_ spec: String?) throws -> ConversionReport {
        let shape = AudioShape(
            sampleRateHz: 48_000,
            channelCount: 2,
            bitDepth: 16,
            codecName: "mp3",
            isLossless: false
        )
        var report = ConversionReport(
            source: .init(track: 0, codec: "mp3", sampleRateHz: 48_000, channelCount: 2, frames: 48_000),
            format: try AudioFormat(container: .wav).resolved(for: shape),
            plannedFrames: 48_000,
            writtenFrames: 48_000,
            decodedFrames: 48_000,
            bytes: 1_234,
            damage: DamageReport(),
            isVerified: false,
            digest: nil,
            lostTags: [],
            remarks: []
        )
        report.spec = spec.map { SpecReport(spec: $0, passes: true, measured: []) }
        return report
    }

    @Test func linesOfSpecsHaveTheNumbersOfTheRecipe() throws {
        let reports = try ["acx", nil, "spotify"].map(Self.report)
        var facts = AttemptFacts(report: reports[0], further: Array(reports.dropFirst()))
        #expect(facts.specLines == ["output 1: acx: accepted", "output 3: spotify: accepted"])
        // The first output of four was left alone.
        facts.outputNumbers = [2, 3, 4]
        #expect(facts.specLines == ["output 2: acx: accepted", "output 4: spotify: accepted"])
        // All but one were.
        facts = AttemptFacts(report: reports[0])
        #expect(facts.specLines == ["acx: accepted"])
        facts.outputNumbers = [2]
        #expect(facts.specLines == ["output 2: acx: accepted"])
    }

    @Test func numbersAreKeptWithTheReport() throws {
        var facts = AttemptFacts(report: try Self.report("acx"))
        #expect(AttemptReport(facts).outputNumbers == nil)
        facts.outputNumbers = [2]
        let json = try #require(try AttemptReport(facts).json())
        let read = try json.decoded(during: "read a report") as AttemptReport
        #expect(read.outputNumbers == [2] && read.conversion == facts.report)
    }
}
