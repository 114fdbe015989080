import Conversion
import Testing

@testable import PumpRoom

/// What a room may say of an output that a spec has accepted.
struct SpecBoundsTests {
    private func report(_ spec: SpecReport) -> ConversionReport {
        let format = ResolvedFormat(
            container: .raw,
            codec: .pcm,
            sampleRateHz: 44_100,
            channelCount: 1,
            layout: .mono,
            bitDepth: 16,
            sampleKind: .integer,
            endianness: .little
        )
        return ConversionReport(
            source: .init(track: 0, codec: "pcm_s16le", sampleRateHz: 44_100, channelCount: 1, frames: 1_000),
            format: format,
            plannedFrames: 1_000,
            writtenFrames: 1_000,
            decodedFrames: 1_000,
            bytes: 32,
            damage: DamageReport(frames: 0, stretchCount: 0, stretches: []),
            isVerified: false,
            digest: nil,
            lostTags: [],
            spec: spec
        )
    }

    private let loudness = SpecReport.Measured(rule: "loudness", value: -23, unit: "LUFS")
    private let peak = SpecReport.Measured(rule: "true_peak", value: -4.2, unit: "dBTP")

    @Test func whatASpecMeasuresIsBelieved() {
        let spec = SpecReport(spec: "ebu-r128", passes: true, measured: [loudness, peak])
        #expect(report(spec).isCredible(within: JobBounds()))
        #expect(report(spec).bounded.spec == spec)
    }

    @Test func impossibleVerdictsAreNot() {
        let endless = SpecReport.Measured(rule: "true_peak", value: .infinity, unit: "dBTP")
        let wordy = SpecReport.Measured(rule: "true_peak", word: "quiet", unit: "dBTP")
        for (spec, passes, measured) in [
            ("ebu-r128", false, [loudness, peak]), ("ebu-r128", true, [loudness]), ("other", true, [loudness, peak]),
            ("ebu-r128", true, [peak, loudness]), ("ebu-r128", true, [loudness, endless]),
            ("ebu-r128", true, [loudness, wordy]), ("ebu-r128", true, []),
        ] as [(String, Bool, [SpecReport.Measured])] {
            let found = SpecReport(spec: spec, passes: passes, measured: measured)
            #expect(!report(found).isCredible(within: JobBounds()), "\(found)")
        }
    }

    @Test func textsAndListsAreBounded() throws {
        let long = String(repeating: "x", count: 10_000)
        let many = [SpecReport.Measured](repeating: .init(rule: long, word: long, unit: long), count: 1_000)
        let spec = try #require(report(SpecReport(spec: long, passes: true, measured: many)).bounded.spec)
        #expect(spec.spec.utf8.count <= Bound.code && spec.measured.count == Bound.measured)
        #expect(
            spec.measured.allSatisfy { $0.rule.utf8.count <= Bound.code && ($0.word ?? "").utf8.count <= Bound.name }
        )
    }
}
