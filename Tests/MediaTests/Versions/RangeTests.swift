import Conversion
import Foundation
import TestSupport
import Testing

@testable import Media

/// How to make a clip, and how closely a range must match the same range of the whole.
struct RangeCase: Sendable, CustomTestStringConvertible {
    let name: String
    let arguments: [String]
    var rate = 44_100
    var channels = 2
    /// Least signal-to-noise ratio of a range against the same range of the whole; `nil` requires identical samples.
    var floor: Double?

    init(_ name: String, _ arguments: String = "", rate: Int = 44_100, channels: Int = 2, floor: Double? = nil) {
        self.name = name
        self.arguments = arguments.split(separator: " ").map(String.init)
        self.rate = rate
        self.channels = channels
        self.floor = floor
    }

    var testDescription: String { "\(name) \(arguments.joined(separator: " ")) \(rate) Hz" }

    static let all: [RangeCase] = [
        RangeCase("a.wav"), RangeCase("a.w64"), RangeCase("a.aiff"), RangeCase("a.au"), RangeCase("a.caf"),
        RangeCase("b.wav", "-c:a pcm_s24le"), RangeCase("a.mov", "-c:a pcm_s16le"),
        RangeCase("p.mka", "-c:a pcm_s16le"),
        RangeCase("ima.wav", "-c:a adpcm_ima_wav"), RangeCase("ms.wav", "-c:a adpcm_ms"),
        RangeCase("a.flac"), RangeCase("f.ogg", "-c:a flac"), RangeCase("f.mka", "-c:a flac", rate: 48_000),
        RangeCase("f.mp4", "-c:a flac -strict -2"),
        RangeCase("alac.m4a", "-c:a alac"), RangeCase("alac.caf", "-c:a alac"), RangeCase("a.wv"), RangeCase("a.tta"),
        RangeCase("wv.mka", "-c:a wavpack"),
        RangeCase("a.mp3", "-b:a 128k"), RangeCase("n.mp3", "-b:a 64k -write_xing 0"),
        RangeCase("v.mp3", "-q:a 4 -write_xing 0"), RangeCase("low.mp3", "-b:a 16k", rate: 16_000, channels: 1),
        RangeCase("mp3.mka", "-c:a libmp3lame", rate: 48_000), RangeCase("mp3.mp4", "-c:a libmp3lame"),
        RangeCase("a.mp2"), RangeCase("a.m4a", "-aac_pns 0"), RangeCase("b.m4a", "-aac_pns 0 -movie_timescale 600"),
        RangeCase("a.aac", "-aac_pns 0"), RangeCase("aac.mka", "-c:a aac -aac_pns 0", rate: 48_000),
        RangeCase("a.ts", "-c:a aac -aac_pns 0"),
        RangeCase("a.ac3", "", floor: 60), RangeCase("a.eac3", "", floor: 60),
        RangeCase("ac3.mka", "-c:a ac3", floor: 60),
        RangeCase("a.dts", "-c:a dca -strict -2", rate: 48_000, floor: 60),
        RangeCase("a.ogg", "-c:a libvorbis"), RangeCase("v.mka", "-c:a libvorbis", rate: 48_000),
        RangeCase("a.opus", "-c:a libopus -b:a 96k", rate: 48_000, floor: 50),
        RangeCase("voip.opus", "-c:a libopus -b:a 16k -application voip", rate: 16_000, channels: 1, floor: 40),
        RangeCase("o.webm", "-c:a libopus", rate: 48_000, floor: 50),
        RangeCase("o.mp4", "-c:a libopus", rate: 48_000, floor: 50),
        RangeCase("o.caf", "-c:a libopus", rate: 48_000, floor: 50),
        RangeCase("a.wma", "-c:a wmav2"), RangeCase("v1.wma", "-c:a wmav1"),
        RangeCase("a.gsm", "-c:a libgsm", rate: 8_000, channels: 1),
        RangeCase("g.wav", "-c:a libgsm_ms", rate: 8_000, channels: 1),
        RangeCase("g722.wav", "-c:a g722", rate: 16_000, channels: 1),
        RangeCase("g726.wav", "-c:a g726 -b:a 32k", rate: 8_000, channels: 1),
        RangeCase("spx.ogg", "-c:a libspeex", rate: 16_000, channels: 1),
        RangeCase("swf.flv", "-c:a adpcm_swf", rate: 22_050, channels: 1),
        RangeCase("a.thd", "-c:a truehd -strict -2", rate: 48_000),
    ]
}

/// A range of a source equals the same range of the whole, wherever it lies and however the reader reaches it.
@Suite struct RangeTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private func range(_ frames: Range<Int64>, _ rate: Int) throws -> MediaTimeRange {
        try MediaTimeRange(
            start: MediaTime(value: frames.lowerBound, timescale: Int32(rate)),
            end: frames.upperBound == .max
                ? .positiveInfinity : MediaTime(value: frames.upperBound, timescale: Int32(rate))
        )
    }

    @Test(arguments: RangeCase.all) func partIsTheSameCutOfTheWhole(test: RangeCase) throws {
        let path = try test.clip(in: folder)
        let whole = try ReadBack.file(path)
        let pcm = try whole.pcm
        let length = Int64(pcm.frames)
        let rate = whole.track.sampleRateHz
        #expect(whole.deliveredFrames == length && whole.stretches.map(\.position) == [0])

        let half = length / 2
        let sets: [[Range<Int64>]] = [
            // At the start, in the middle, at the end; one frame; none; adjacent ranges within one packet.
            [
                0..<1000, 1010..<1020, 1030..<1040, 1040..<1041, 5000..<5000, half..<half + 5001,
                length - 5000..<length - 4999, length - 777..<length,
            ],
            [length - 3001..<Int64.max],
            // Backwards and overlapping.
            [half..<half + 1000, half + 500..<half + 600, length - 100..<Int64.max, 5000..<6000, 0..<10],
            // Back behind a block that was kept for a range which then read on to the end.
            [0..<100, 110..<Int64.max, 200..<20_000, 120..<130],
        ]
        for ranges in sets {
            let part = try ReadBack.file(path, ranges.map { try range($0, rate) })
            let wanted = try PCM.joined(
                ranges.map { try pcm.cut(Int($0.lowerBound)..<Int(min($0.upperBound, length))) }
            )
            let got = part.stretches.isEmpty ? try pcm.cut(0..<0) : try part.pcm
            #expect(got.frames == wanted.frames, "\(ranges)")
            guard got.frames == wanted.frames else { continue }
            let starts = ranges.filter { !$0.isEmpty }.map(\.lowerBound)
            #expect(Set(part.stretches.map(\.position)).isSubset(of: starts), "\(ranges)")
            if got == wanted { continue }
            guard let floor = test.floor else {
                let first = zip(got.bytes, wanted.bytes).enumerated().first { $0.element.0 != $0.element.1 }!.offset
                Issue.record(
                    "\(ranges): first differs at frame \(first / got.bytesPerFrame) of \(got.frames), \(try got.snr(against: wanted))"
                )
                continue
            }
            let ratio = try got.snr(against: wanted).min()!
            #expect(ratio > floor, "\(ranges)")
        }
    }

    @Test(
        arguments: [
            ("a.wav", ""), ("a.w64", ""), ("a.aiff", ""), ("a.au", ""), ("a.caf", ""), ("a.flac", ""), ("a.mp3", ""),
            ("n.mp3", "-write_xing 0"), ("a.aac", "-aac_pns 0"), ("a.m4a", "-aac_pns 0 -movflags +faststart"),
            ("a.ogg", ""), ("a.mka", "-c:a flac"), ("a.ts", "-c:a aac -aac_pns 0"), ("a.wv", ""), ("a.tta", ""),
        ]
    ) func pipeGivesAscendingRangesInOnePass(name: String, arguments: String) throws {
        let path = folder.path(name)
        let sweep = Signal.sweep(rate: 16_000, frames: 100_001).pcm(.s16)
        try FFmpeg.encode(sweep, to: path, arguments.split(separator: " ").map(String.init))
        let whole = try ReadBack.file(path)
        let pcm = try whole.pcm
        let ranges: [Range<Int64>] = [5..<10, 20..<500, 500..<501, 7000..<8000, 80_000..<81_000, 99_990..<100_000]
        let pipe = try FilledPipe.holding(Bytes.read(path))
        let part = try ReadBack(
            descriptor: pipe.reading,
            ranges.map { try range($0, 16_000) },
            options: .init(nameHint: name)
        )
        let wanted = try PCM.joined(ranges.map { try pcm.cut(Int($0.lowerBound)..<Int($0.upperBound)) })
        #expect(try part.pcm == wanted)

        let again = try FilledPipe.holding(Bytes.read(path))
        let error = #expect(throws: MediaError.self) {
            try ReadBack(
                descriptor: again.reading,
                [range(90_000..<90_010, 16_000), range(0..<10, 16_000)],
                options: .init(nameHint: name)
            )
        }
        #expect(error?.code == .sourceNotSeekable)
    }

    @Test(arguments: [
        ("a.wav", 0.1), ("a.mov", 0.1), ("a.flac", 0.1), ("a.m4a", 0.1), ("alac.m4a", 0.1), ("a.mp3", 1.1),
    ])
    func partAtTheEndCostsLittle(name: String, readShare: Double) throws {
        let path = folder.path(name)
        let arguments = name == "a.mov" ? ["-c:a", "pcm_s16le"] : name == "alac.m4a" ? ["-c:a", "alac"] : []
        // Ten minutes.
        let frames = 4_800_000
        try FFmpeg.run(
            ["-f", "lavfi", "-i", "anoisesrc=r=8000:a=0.1:seed=7", "-af", "atrim=end_sample=\(frames)"] + arguments + [
                path
            ]
        )
        let last = Int64(frames) - 8000
        let part = try ReadBack.file(path, [range(last..<Int64(frames), 8000)])
        #expect(part.deliveredFrames == 8000 && part.stretches.map(\.position) == [last])
        #expect(part.decodedPackets < 60)
        #expect(Double(part.readBytes) < readShare * Double(try Bytes.size(of: path)) + 1e6)
        // The samples are the same as from a reader that may not skip.
        let pipeless = try ReadBack.file(path, [range(last..<Int64(frames), 8000)], options: .init(damage: .conceal))
        #expect(name == "a.wav" || name == "a.mov" || pipeless.decodedPackets > 1000)
        #expect(try part.pcm == pipeless.pcm)
    }

    @Test(arguments: ["a.wav", "a.flac", "a.m4a", "n.mp3", "a.opus", "o.caf", "a.mka", "a.aac"])
    func rangeBeyondTheEndIsRefused(name: String) throws {
        let path = folder.path(name)
        let tone = Signal.tone(440, rate: 48_000, frames: 30_000).pcm(.s16)
        let arguments = name == "n.mp3" ? ["-write_xing", "0"] : name == "o.caf" ? ["-c:a", "libopus"] : []
        try FFmpeg.encode(tone, to: path, arguments)
        let length = try ReadBack.file(path).deliveredFrames
        let whole = try ReadBack.file(path, [range(0..<length, 48_000)])
        #expect(whole.deliveredFrames == length)
        for beyond in [length - 10..<length + 1, length + 1..<Int64.max, length + 48_000..<length + 48_001] {
            let error = #expect(throws: MediaError.self, "\(beyond)") {
                try ReadBack.file(path, [range(10..<20, 48_000), range(beyond, 48_000)])
            }
            #expect(error?.code == .rangeOutsideSource, "\(beyond)")
        }
    }

    @Test func timesBetweenFramesGoToTheNearerAndFromTheMiddleForward() throws {
        let path = folder.path("a.wav")
        try WAVFile.write(Signal.ramp24(rate: 8_000, frames: 8_000).pcm(.s24), to: path)
        // In units of 1/16,000 s: 2.5 frames and 10.5 frames.
        let halves = try MediaTimeRange(
            start: MediaTime(value: 5, timescale: 16_000),
            end: MediaTime(value: 21, timescale: 16_000)
        )
        let thirds = try MediaTimeRange(
            start: MediaTime(value: 100, timescale: 24_000),
            end: MediaTime(value: 200, timescale: 24_000)
        )
        let part = try ReadBack.file(path, [halves, thirds])
        #expect(part.stretches.map(\.position) == [3, 33])
        #expect(part.stretches.map(\.pcm.frames) == [8, 34])
    }

    @Test func emptyListOfRangesIsTheWhole() throws {
        let path = folder.path("a.wav")
        let tone = Signal.tone(440, rate: 8_000, frames: 999).pcm(.s16)
        try WAVFile.write(tone, to: path)
        #expect(try ReadBack.file(path, []).pcm == tone)
        #expect(try ReadBack.file(path, [range(0..<0, 8000)]).deliveredFrames == 0)
        #expect(try ReadBack.file(path, [range(999..<Int64.max, 8000)]).deliveredFrames == 0)
    }

    /// A header may state a wrong byte rate, and libav seeks by it.
    @Test func wrongByteRateDoesNotMoveARange() throws {
        let path = folder.path("a.wav")
        let ramp = Signal.ramp24(rate: 8_000, frames: 400_000).pcm(.s16)
        try WAVFile.write(ramp, to: path)
        try Bytes.overwrite(path, at: 28, with: [0x39, 0x30, 0, 0])
        let part = try ReadBack.file(path, [range(300_000..<300_100, 8000)])
        #expect(try part.pcm == ramp.cut(300_000..<300_100))
    }
}
