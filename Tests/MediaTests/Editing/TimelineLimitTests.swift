import Conversion
import Foundation
import TestSupport
import Testing

@testable import Media

/// The limit of a timeline keeps the true peak of the mix, and changes only what surrounds a peak.
@Suite struct TimelineLimitTests {
    private static let rate = 48_000
    private let sources: Sources
    /// One second of loud noise twice at the same time, and quiet noise on its own before and after it.
    private let loudMix: Timeline

    init() throws {
        let noise = { (seed: UInt64, level: Double) in
            Signal.noise(seed: seed, rate: Self.rate, frames: Self.rate, channels: 2, amplitude: level).pcm(.f32)
        }
        sources = try Sources(["one": noise(1, 0.9), "two": noise(2, 0.9), "quiet": noise(3, 0.2)])
        let second = MediaTime(value: 1, timescale: 1)
        loudMix = Timeline(tracks: [
            .init(pieces: [Piece(.source("quiet")), Piece(.source("one")), Piece(.source("quiet"), repeats: .times(4))]
            ),
            .init(start: second, pieces: [Piece(.source("two"))]),
        ])
    }

    private func limited(to level: Double) -> Timeline {
        var timeline = loudMix
        timeline.limit = Gain(decibels: level)
        return timeline
    }

    private func decibels(_ factor: Double) -> Double { 20 * log10(factor) }

    @Test(arguments: [-1.0, -6]) func mixStaysBelowTheTruePeak(level: Double) throws {
        let limited = try sources.convert(limited(to: level))
        let (found, free) = (
            try WAVFile.read(path: limited.path), try WAVFile.read(path: sources.convert(loudMix, to: "free.wav").path)
        )
        #expect(found.frames == 6 * Self.rate)
        #expect(limited.outcome.summary.writtenFrames == Int64(6 * Self.rate))
        #expect(try decibels(ReferenceLoudness(free.signal).truePeak) > 5)
        #expect(try decibels(ReferenceLoudness(found.signal).truePeak) <= level + 0.05)
        // The limiter looks a few milliseconds ahead. Two seconds after a peak, no bit of a single differs any more.
        for kept in [0..<Self.rate - 1_000, 9 * Self.rate / 2..<6 * Self.rate] {
            #expect(try found.cut(kept) == free.cut(kept))
        }
        let told = try #require(limited.outcome.remarks.first { $0.kind == .peaksLimited })
        let changed = found.differingFrames(from: free)
        // A reduction of less than half a step of the format changes no bit.
        #expect(told.count ?? 0 >= Int64(changed) && changed > Self.rate / 2)
        #expect(told.detail.hasPrefix("true peaks were limited to \(Int(level))dBTP, by at most "))
        #expect(!told.kind.isLoss)
    }

    @Test func whatStaysBelowKeepsEveryBit() throws {
        let quiet = Timeline(
            tracks: [.init(pieces: [Piece(.source("quiet")), Piece(.source("quiet"))])],
            limit: Gain(decibels: -6)
        )
        let result = try sources.convert(quiet)
        #expect(result.outcome.remarks.isEmpty)
        let given = try WAVFile.read(path: sources.convert(Timeline(tracks: quiet.tracks), to: "plain.wav").path)
        #expect(try WAVFile.read(path: result.path) == given)
    }

    @Test func integersThatWereLimitedAreNotClipped() throws {
        let free = try sources.convert(loudMix, to: "free.wav") {
            $0.format = AudioFormat(container: .wav, bitDepth: 16)
        }
        #expect(free.outcome.remarks.contains { $0.kind == .samplesClipped })
        let limited = try sources.convert(limited(to: -1)) { $0.format = AudioFormat(container: .wav, bitDepth: 16) }
        #expect(!limited.outcome.remarks.contains { $0.kind == .samplesClipped })
        #expect(limited.outcome.remarks.contains { $0.kind == .peaksLimited })
    }
}
