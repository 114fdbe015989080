import Conversion
import TestSupport
import Testing

@testable import Media

/// Sources whose clock does not begin at zero, begins again, or has an edit without a length.
@Suite struct LateStartTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private let noise = Signal.noise(seed: 6, rate: 48_000, frames: 96_000, channels: 2, amplitude: 0.3).pcm(.s16)

    /// The length of a Matroska file counts from zero.
    @Test(arguments: [
        ("mka", "flac"), ("mka", "pcm_s16le"), ("mka", "aac"), ("webm", "libopus"), ("webm", "libvorbis"),
        ("wma", "wmav2"),
    ])
    func soundMayBeginLater(suffix: String, codec: String) throws {
        let (early, late) = (folder.path("early.\(suffix)"), folder.path("late.\(suffix)"))
        try FFmpeg.encode(noise, to: early, ["-c:a", codec])
        try FFmpeg.run(["-itsoffset", "5", "-i", early, "-c", "copy", late])
        #expect(try ReadBack.file(late).deliveredFrames == ReadBack.file(early).deliveredFrames)
        let bytes = try Bytes.read(late)
        let pipe = try FilledPipe.holding(bytes)
        #expect(try ReadBack(descriptor: pipe.reading).deliveredFrames == ReadBack.file(early).deliveredFrames)
        // What is missing at the end is still missed.
        try Bytes.write(Array(bytes.dropLast(bytes.count / 2)), to: late)
        #expect(Converted.code { _ = try ReadBack.file(late) } == .truncated)
    }

    /// Recordings that were joined begin again on the clock of their container.
    @Test(arguments: ["ts", "mpg"]) func whatWasJoinedIsEditedAsAWhole(suffix: String) throws {
        var joined: [UInt8] = []
        for (number, frequency) in [500.0, 900].enumerated() {
            let path = folder.path("\(number).\(suffix)")
            let tone = Signal.tone(frequency, rate: 48_000, frames: 144_000, amplitude: 0.3)
            try FFmpeg.encode(tone.pcm(.s16), to: path, ["-c:a", "mp2"])
            joined += try Bytes.read(path)
        }
        let path = folder.path("all.\(suffix)")
        try Bytes.write(joined, to: path)
        let plain = try ReadBack.file(path).pcm
        #expect(plain.frames == 288_000)
        let sources = try Sources(files: ["a": path])
        let expected = plain.samples(channel: 0)
        let once = try sources.samples(of: Timeline(tracks: [.init(pieces: [Piece(.source("a"))])]))
        let isSame = once == [expected]
        #expect(isSame)
        var twice = Piece(.source("a"))
        twice.repeats = .times(2)
        let looped = try sources.samples(of: Timeline(tracks: [.init(pieces: [twice])]))
        let isTwice = looped == [expected + expected]
        #expect(isTwice)
    }

    /// Players take an edit whose length is zero for one that reaches to the end.
    @Test(arguments: [("m4a", "aac"), ("m4a", "alac"), ("mov", "pcm_s16le"), ("mov", "pcm_s24be"), ("mp4", "libopus")])
    func anEditWithoutALengthPlaysAll(suffix: String, codec: String) throws {
        let path = folder.path("a.\(suffix)")
        try FFmpeg.encode(noise, to: path, ["-c:a", codec])
        let whole = try ReadBack.file(path)
        var bytes = try Bytes.read(path)
        let list = try #require(Bytes.find("elst", in: bytes))
        for place in list + 12..<list + 16 { bytes[place] = 0 }
        try Bytes.write(bytes, to: path)
        let read = try ReadBack.file(path)
        #expect(whole.deliveredFrames >= 96_000 && read.deliveredFrames == whole.deliveredFrames)
        #expect(read.track.length.frames == whole.track.length.frames)
        let isSame = try read.pcm == whole.pcm
        #expect(isSame)
    }

    /// A source may change its channels in the middle.
    @Test(arguments: ["mp3", "aac", "ac3"]) func channelsThatAreMixedInTheMiddleAreReported(suffix: String) throws {
        var joined: [UInt8] = []
        for channels in 1...2 {
            let path = folder.path("\(channels).\(suffix)")
            let tone = Signal.tone(500, rate: 48_000, frames: 60_000, channels: channels, amplitude: 0.3)
            try FFmpeg.encode(tone.pcm(.s16), to: path)
            joined += try Bytes.read(path)
        }
        let path = folder.path("all.\(suffix)")
        try Bytes.write(joined, to: path)
        var piece = Piece(.source("a"))
        piece.gain = try #require(Gain(decibels: -6))
        let sources = try Sources(files: ["a": path])
        let (outcome, _) = try sources.convert(Timeline(tracks: [.init(pieces: [piece])]))
        let mixed = outcome.remarks.filter { $0.kind == .channelsMixed }.map(\.detail)
        #expect(mixed == ["stereo was mixed to mono, front channels at -6.0 dB"])
    }
}
