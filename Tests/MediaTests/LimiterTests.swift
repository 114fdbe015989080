import Conversion
import Foundation
import TestSupport
import Testing

@testable import Media

/// The limiter keeps true peaks below its ceiling by every meter, changes nothing else, and keeps every frame in place.
@Suite struct LimiterTests {
    private func limited(
        _ signal: Signal,
        ceiling: Double = -1,
        gain: Double = 0,
        as format: PCM.SampleFormat = .f32,
        blockFrames: @escaping (Int) -> Int = { _ in 1_000 }
    ) throws -> (pcm: PCM, limiter: Limiter) {
        let limiter = try Limiter(
            SignalOutput(signal, as: format, blockFrames: blockFrames),
            ceiling: ceiling,
            gain: gain
        )
        let pcm = try limiter.collected(rate: signal.rate, channels: signal.channels.count, as: format)
        return (pcm, limiter)
    }

    /// The true peak in dB, as libebur128 finds it, and as ffmpeg's resampler does at four times the rate, which is
    /// what its `ebur128` filter measures.
    private func truePeaks(_ pcm: PCM) throws -> [Double] {
        let folder = try TemporaryFolder.create()
        let path = folder.path("limited.wav")
        try WAVFile.write(pcm, to: path)
        let dense = try FFmpeg.decode(path, to: .f64, extraArguments: ["-ar", "\(4 * pcm.rate)"])
        let channels = (0..<pcm.channels).map { pcm.samples(channel: $0) }
        let peaks = [
            try ReferenceLoudness(Signal(rate: pcm.rate, channels: channels)).truePeak,
            dense.peaks.max() ?? 0,
        ]
        return peaks.map { 20 * log10($0) }
    }

    // MARK: The ceiling

    @Test(arguments: HostileSignal.allCases, [44_100, 48_000]) func noMeterFindsAPeakAboveTheCeiling(
        kind: HostileSignal,
        rate: Int
    ) throws {
        for ceiling in [-1.0, -6] {
            let (pcm, limiter) = try limited(kind.signal(rate: rate), ceiling: ceiling)
            #expect(limiter.limitedFrames > 0)
            for peak in try truePeaks(pcm) { #expect(peak <= ceiling + 0.05, "\(kind) \(rate) Hz: \(peak) dBTP") }
        }
    }

    @Test(arguments: [8_000, 96_000, 192_000]) func otherRatesKeepTheCeiling(rate: Int) throws {
        for kind in [HostileSignal.noise, .square, .clicks] {
            let (pcm, _) = try limited(kind.signal(rate: rate))
            for peak in try truePeaks(pcm) { #expect(peak <= -1 + 0.05, "\(kind) \(rate) Hz: \(peak) dBTP") }
        }
    }

    /// The limit is used, not undercut: a steady tone ends at the ceiling.
    @Test func aSteadyToneEndsAtTheCeiling() throws {
        let tone = Signal.tone(997, rate: 48_000, frames: 96_000, amplitude: 1)
        let (pcm, limiter) = try limited(tone, ceiling: -6)
        let peak = SampleMath.peak(pcm.samples(channel: 0), in: 24_000..<72_000)
        #expect(abs(20 * log10(peak) + 6) < 0.01)
        #expect(abs(limiter.largestReductionDB - 6) < 0.05)
    }

    @Test func gainIsAppliedBeforeTheLimit() throws {
        let tone = Signal.tone(997, rate: 48_000, frames: 48_000, amplitude: 0.1)
        let (raised, limiter) = try limited(tone, ceiling: -1, gain: 12)
        #expect(limiter.limitedFrames == 0)
        let factor = pow(10, 12.0 / 20)
        #expect(SampleMath.greatestDifference(raised.samples(channel: 0), tone.channels[0], gain: factor) < 1e-7)
        let (limited, _) = try limited(tone, ceiling: -1, gain: 30)
        for peak in try truePeaks(limited) { #expect(peak <= -0.95) }
    }

    /// Left and right keep their ratio, so that the image does not move.
    @Test func allChannelsGetTheSameGain() throws {
        let loud = Signal.tone(997, rate: 48_000, frames: 48_000, amplitude: 1)
        let soft = Signal.tone(401, rate: 48_000, frames: 48_000, amplitude: 0.1)
        let both = Signal.stacked([loud, soft])
        let (pcm, _) = try limited(both, ceiling: -6, as: .f64)
        for frame in stride(from: 1_000, to: 47_000, by: 37) where abs(loud.channels[0][frame]) > 0.1 {
            let gain = pcm.samples(channel: 0)[frame] / loud.channels[0][frame]
            #expect(abs(pcm.samples(channel: 1)[frame] - gain * soft.channels[0][frame]) < 1e-12)
            if frame > 4_000 { break }
        }
    }

    // MARK: Positions

    /// The look-ahead holds frames back. A block has the position of its own frames, not of those that were read.
    @Test(arguments: [1, 100, 1_000, 9_000]) func positionsAreThoseOfTheFramesThatComeOut(blockFrames: Int) throws {
        let noise = Signal.noise(seed: 5, rate: 48_000, frames: 20_003, amplitude: 1.5)
        let limiter = try Limiter(SignalOutput(noise, as: .f32, blockFrames: { _ in blockFrames }), ceiling: -1)
        var block = try SampleBlock()
        var frames: Int64 = 0
        while try limiter.next(into: &block) {
            #expect(block.position == frames)
            frames += Int64(block.frameCount)
        }
        #expect(frames == 20_003)
    }

    // MARK: What must not change

    @Test(arguments: [PCM.SampleFormat.f32, .f64]) func whatIsBelowTheCeilingStaysBitForBit(format: PCM.SampleFormat)
        throws
    {
        let music = Signal.noise(seed: 4, rate: 44_100, frames: 100_003, channels: 2, amplitude: 0.35)
        let (pcm, limiter) = try limited(music, ceiling: -1, as: format)
        #expect(pcm.bytes == music.pcm(format).bytes)
        #expect(limiter.limitedFrames == 0 && limiter.largestReductionDB == 0)
    }

    /// Before the look-ahead of a peak and after the recovery from it, nothing is changed.
    @Test func aPeakChangesOnlyItsSurroundings() throws {
        var samples = Signal.noise(seed: 4, rate: 48_000, frames: 480_000, amplitude: 0.2).channels
        samples[0][100_000] = 2
        let signal = Signal(rate: 48_000, channels: samples)
        let pcm = try limited(signal, ceiling: -1).pcm
        let (before, after) = (signal.pcm(.f32).samples(channel: 0), pcm.samples(channel: 0))
        #expect(before[..<(100_000 - 600)] == after[..<(100_000 - 600)])
        #expect(before[300_000...] == after[300_000...])
        #expect(after[100_000] <= pow(10, -0.05) && after[100_000] > 0.8)
        // The gain falls and rises without a step.
        let gains = (99_400..<110_000).filter { abs(before[$0]) > 0.02 }.map { ($0, after[$0] / before[$0]) }
        for (first, second) in zip(gains, gains.dropFirst()) {
            #expect(abs(first.1 - second.1) < 0.01 * Double(second.0 - first.0), "\(first) \(second)")
        }
    }

    @Test func silenceStaysSilent() throws {
        let silence = Signal.silence(rate: 48_000, frames: 50_000, channels: 2)
        #expect(try limited(silence, gain: 40).pcm.bytes == silence.pcm(.f32).bytes)
    }

    @Test(arguments: [1, 2, 31, 32, 33, 239, 255, 256, 257, 479, 480, 481, 1_023, 4_095, 4_096, 4_097, 10_007])
    func lengthAndPlacesStay(frames: Int) throws {
        for amplitude in [0.1, 3.0] {
            let noise = Signal.noise(seed: 9, rate: 48_000, frames: frames, channels: 2, amplitude: amplitude)
            let pcm = try limited(noise).pcm
            #expect(pcm.frames == frames)
            // Each frame is its own, with a gain of at most 1.
            let (before, after) = (noise.channels[0], pcm.samples(channel: 0))
            #expect(zip(before, after).allSatisfy { $0 * $1 >= 0 && abs($1) <= abs($0) + 1e-7 })
        }
    }

    @Test func minutesKeepTheirLength() throws {
        let noise = Signal.noise(seed: 9, rate: 16_000, frames: 3 * 60 * 16_000 + 1, amplitude: 0.95)
        #expect(try limited(noise).pcm.frames == noise.frames)
    }

    @Test func blocksDoNotMatter() throws {
        let noise = Signal.noise(seed: 11, rate: 48_000, frames: 30_000, channels: 2, amplitude: 1.5)
        let wanted = try limited(noise) { _ in 30_000 }.pcm
        for lengths in [[1], [255], [256], [4_096], [7, 1_024, 3, 5_000, 1]] {
            #expect(try limited(noise) { lengths[$0 % lengths.count] }.pcm == wanted, "\(lengths)")
        }
    }

    @Test func integersAreRefused() throws {
        var block = try SampleBlock()
        let limiter = try Limiter(IntegerOutput(), ceiling: -1)
        #expect(Converted.code { _ = try limiter.next(into: &block) } == .resampleFailed)
    }

    private final class IntegerOutput: SampleOutput {
        var clockRateHz: Int { 8_000 }
        var deliveredFrames: Int64 { 0 }
        var promisedFrames: Int64? { nil }

        func next(into block: inout SampleBlock) throws -> Bool {
            try block.reserve(
                10,
                SampleShape(format: .s16, sampleRateHz: 8_000, channelCount: 1, channelMask: 0)
            )
            return true
        }
    }
}
