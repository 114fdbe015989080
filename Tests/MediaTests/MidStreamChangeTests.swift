import Conversion
import Foundation
import TestSupport
import Testing

@testable import Media

/// Streams whose rate or channels change in the middle: nothing is lost, and nothing drifts.
@Suite struct MidStreamChangeTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    /// An encoding of three parts, and the frames that each part has in the joined file.
    struct Joint: Sendable, CustomTestStringConvertible {
        let suffix: String
        let arguments: String
        let frames: [Int]
        var rates = [44_100, 48_000, 44_100]
        var channels = [2, 1, 2]

        var testDescription: String { "\(suffix) \(arguments)" }
    }

    @Test(
        arguments: [
            // Delay that is no longer at the start becomes sound, and so does padding that is no longer at the end.
            Joint(suffix: "mp3", arguments: "", frames: [31_151, 32_256, 32_256]),
            Joint(suffix: "mp3", arguments: "-write_xing 0 -id3v2_version 0", frames: [32_256, 32_256, 32_256]),
            Joint(suffix: "mp2", arguments: "", frames: [31_104, 31_104, 31_104]),
            Joint(suffix: "aac", arguments: "", frames: [31_744, 31_744, 31_744]),
            Joint(suffix: "ts", arguments: "-c:a aac", frames: [31_744, 31_744, 31_744]),
            Joint(suffix: "ac3", arguments: "", frames: [30_720, 30_720, 30_720]),
            Joint(suffix: "ogg", arguments: "-c:a flac", frames: [30_000, 30_000, 30_000]),
            Joint(suffix: "ogg", arguments: "-c:a libvorbis", frames: [30_000, 30_000, 30_000]),
            Joint(
                suffix: "opus",
                arguments: "-c:a libopus",
                frames: [30_000, 30_000, 30_000],
                rates: [48_000, 48_000, 48_000]
            ),
        ]
    ) func joinedFilesAreOneSound(joint: Joint) throws {
        var joined: [UInt8] = []
        for (number, (rate, channels)) in zip(joint.rates, joint.channels).enumerated() {
            let path = folder.path("\(number).\(joint.suffix)")
            let tone = Signal.tone(
                1_000,
                rate: rate,
                frames: 30_000,
                channels: channels,
                amplitude: [0.5, 0.1, 0.3][number]
            )
            try FFmpeg.encode(tone.pcm(.s16), to: path, joint.arguments.split(separator: " ").map(String.init))
            joined += try Bytes.read(path)
        }
        let path = folder.path("all.\(joint.suffix)")
        try Bytes.write(joined, to: path)
        let read = try ReadBack.file(path)
        #expect(read.track.sampleRateHz == joint.rates[0] && read.track.channelCount == 2)
        if Set(joint.rates).count > 1 {
            #expect(read.stretches.map(\.pcm.frames) == joint.frames)
            #expect(
                read.stretches.map(\.pcm.rate) == joint.rates && read.stretches.map(\.pcm.channels) == joint.channels
            )
        }

        let target = folder.path("out.wav")
        let summary = try convert(path, to: target)
        let exact = zip(joint.frames, joint.rates).reduce(0.0) { $0 + Double($1.0) * 44_100 / Double($1.1) }
        #expect(summary.plannedFrames == Int64(exact.rounded()) && summary.writtenFrames == summary.plannedFrames)
        let output = try WAVFile.read(path: target)
        #expect(output.frames == Int(summary.plannedFrames))

        // Each part has the tone at its own level, and the changes are at the right places.
        var start = 0.0
        for (number, (frames, rate)) in zip(joint.frames, joint.rates).enumerated() {
            let end = start + Double(frames) * 44_100 / Double(rate)
            let middle = try output.cut(Int(start) + 3_000..<Int(end) - 3_000)
            let level = middle.rms[0] * 2.0.squareRoot()
            #expect(
                abs(level / [0.5, 0.1, 0.3][number] - 1) < 0.05 || number == 1 && abs(level / 0.0707 - 1) < 0.05,
                "\(level)"
            )
            start = end
        }
    }

    private func convert(_ source: String, to target: String, rate: Int = 44_100) throws -> Writer.Summary {
        let input = try OpenFile.reading(source)
        let output = try OpenFile.creating(target)
        let format = AudioFormat(container: .wav, sampleRateHz: rate, channelCount: 2, bitDepth: 16)
        return try Converter(.init(format: format, nameHint: source))
            .run(from: input.descriptor, to: output.descriptor).summary
    }

    /// FLAC frames that state another rate and other channels than the file's header.
    @Test func changedFrameHeadersGiveWhatThePartsGive() throws {
        let parts: [(rate: Int, channels: Int, frames: Int)] = [
            (44_100, 2, 5_000), (48_000, 2, 8_000), (44_100, 1, 5_000), (22_050, 2, 3_000),
        ]
        var all = FLACFile(rate: 44_100, channels: 2, bits: 16, frames: 0, blockFrames: 1_000)
        var wanted: [PCM] = []
        for (number, part) in parts.enumerated() {
            let sweep = Signal.sweep(rate: part.rate, frames: part.frames, channels: part.channels)
            var one = FLACFile(
                rate: part.rate,
                channels: part.channels,
                bits: 16,
                frames: part.frames,
                blockFrames: 1_000
            )
            one.append(sweep.integers(bits: 16), rate: part.rate, bits: 16)
            all.append(sweep.integers(bits: 16), rate: part.rate, bits: 16)
            try Bytes.write(one.bytes, to: folder.path("\(number).flac"))
            _ = try convert(folder.path("\(number).flac"), to: folder.path("\(number).wav"))
            wanted.append(try WAVFile.read(path: folder.path("\(number).wav")))
        }
        try Bytes.write(all.bytes, to: folder.path("all.flac"))
        let summary = try convert(folder.path("all.flac"), to: folder.path("all.wav"))
        #expect(summary.plannedFrames == 5_000 + 7_350 + 5_000 + 6_000)
        let joined = try PCM.joined(wanted)
        #expect(try WAVFile.read(path: folder.path("all.wav")) == joined)
    }

    /// Counting frames at another rate must not misplace a range after the changes.
    @Test func partBehindAChangeIsTheSameCutOfTheWhole() throws {
        var file = FLACFile(rate: 44_100, channels: 1, bits: 16, frames: 0, blockFrames: 1_000)
        for rate in [44_100, 48_000, 44_100] {
            file.append(Signal.sweep(rate: rate, frames: 60_000).integers(bits: 16), rate: rate, bits: 16)
        }
        let path = folder.path("a.flac")
        try Bytes.write(file.bytes, to: path)
        let whole = try ReadBack.file(path)
        #expect(whole.stretches.map(\.position) == [0, 60_000, 115_125])
        let start = MediaTime(value: 150_000, timescale: 44_100)
        let part = try ReadBack.file(path, [MediaTimeRange(start: start, duration: MediaTime(value: 1, timescale: 10))])
        #expect(part.stretches.map(\.position) == [150_000])
        #expect(try part.pcm == whole.stretches[2].pcm.cut(34_875..<34_875 + 4_410))
    }

    /// Regression: the end of the range was rounded down within a block of the other rate, whose start is no whole frame.
    @Test(arguments: [5_001, 5_007, 5_018, 5_919, 6_838, 9_999, 12_349])
    func aRangeAcrossAChangeHasItsLength(end: Int) throws {
        var file = FLACFile(rate: 44_100, channels: 2, bits: 16, frames: 0, blockFrames: 1_000)
        for (rate, frames) in [(44_100, 5_000), (48_000, 8_000)] {
            let sweep = Signal.sweep(rate: rate, frames: frames, channels: 2)
            file.append(sweep.integers(bits: 16), rate: rate, bits: 16)
        }
        try Bytes.write(file.bytes, to: folder.path("a.flac"))
        let range = try MediaTimeRange(
            start: MediaTime(frames: 1_234, rate: 44_100),
            end: MediaTime(frames: Int64(end), rate: 44_100)
        )
        let format = AudioFormat(container: .wav, sampleRateHz: 44_100)
        let path = folder.path("a.wav")
        let outcome = try Converted.file(folder.path("a.flac"), to: path, as: format, ranges: [range])
        #expect(outcome.summary.writtenFrames == Int64(end - 1_234))
    }

    /// After each change the output has a whole number of frames. The fraction carries over.
    @Test func manyChangesDoNotDrift() throws {
        var file = FLACFile(rate: 44_100, channels: 1, bits: 16, frames: 0, blockFrames: 100)
        for _ in 0..<200 {
            // 100 frames of 48 kHz are 91.875 of 44.1 kHz.
            for rate in [44_100, 48_000] {
                file.append(Signal.tone(1_000, rate: rate, frames: 100).integers(bits: 16), rate: rate, bits: 16)
            }
        }
        try Bytes.write(file.bytes, to: folder.path("a.flac"))
        let summary = try convert(folder.path("a.flac"), to: folder.path("a.wav"))
        #expect(summary.plannedFrames == 200 * 100 + 18_375)
        #expect(try WAVFile.read(path: folder.path("a.wav")).frames == 38_375)
        let read = try ReadBack.file(folder.path("a.flac"))
        #expect(read.stretches.last!.position == Int64(38_283))
    }

    @Test func outputClockKeepsItsFractions() {
        var clock = OutputClock(rate: 44_100)
        for _ in 0..<1_000 {
            for rate in [48_000, 32_000, 11_025, 44_100] { clock.add(1, rate: rate) }
        }
        // 0.91875 + 1.378125 + 4 + 1, a thousand times.
        #expect(clock.planned == 7_297)
        var absurd = OutputClock(rate: 48_000)
        for rate in 1_000_003..<1_000_103 { absurd.add(rate, rate: rate) }
        #expect(abs(absurd.planned - 4_800_000) <= 100)
    }
}
