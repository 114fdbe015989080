import Conversion
import TestSupport
import Testing

@testable import Media

/// A pipe that breaks off before the end that its header states is as incomplete as a file.
@Suite struct CutPipeTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    struct Format: Sendable, CustomTestStringConvertible {
        let suffix: String
        var arguments = ""
        /// Bytes that are missing at the end.
        var cuts = [1_000, 60_000]
        var testDescription: String { "\(suffix) \(arguments)" }
    }

    @Test(
        arguments: [
            Format(suffix: "wav", cuts: [4, 1_000, 60_000]),
            Format(suffix: "wav", arguments: "-c:a adpcm_ima_wav", cuts: [2, 1_000]),
            Format(suffix: "wav", arguments: "-rf64 always", cuts: [4, 1_000, 60_000]),
            Format(suffix: "w64", cuts: [8, 1_000, 60_000]),
            Format(suffix: "ogg", arguments: "-c:a libvorbis -q:a 9", cuts: [1, 1_000]),
            Format(suffix: "opus", arguments: "-c:a libopus -b:a 256k", cuts: [1, 1_000]),
            Format(suffix: "wma", arguments: "-c:a wmav2 -b:a 256k", cuts: [1_000, 20_000]),
            Format(suffix: "avi", arguments: "-c:a pcm_s16le"),
            Format(suffix: "mka", arguments: "-c:a flac", cuts: [1_000, 60_000]),
            Format(suffix: "webm", arguments: "-c:a libopus -b:a 256k", cuts: [1_000, 20_000]),
        ]
    )
    func anIncompletePipeIsTruncated(format: Format) throws {
        let path = folder.path("a.\(format.suffix)")
        let noise = Signal.noise(seed: 4, rate: 48_000, frames: 96_001, channels: 2, amplitude: 0.3)
        try FFmpeg.encode(noise.pcm(.s16), to: path, format.arguments.split(separator: " ").map(String.init))
        let bytes = try Bytes.read(path)
        let whole = try FilledPipe.holding(bytes)
        #expect(try ReadBack(descriptor: whole.reading).deliveredFrames == ReadBack.file(path).deliveredFrames)
        for cut in format.cuts {
            let part = try FilledPipe.holding(Array(bytes.dropLast(cut)))
            let code = Converted.code { _ = try ReadBack(descriptor: part.reading) }
            #expect(code == .truncated, "\(cut)")
        }
    }

    /// Programs that write to a pipe do not know the length.
    @Test(arguments: ["wav", "matroska", "asf", "avi", "ogg", "sox"])
    func aHeaderWithoutALengthPromisesNone(format: String) throws {
        let noise = Signal.noise(seed: 5, rate: 48_000, frames: 48_000, channels: 2, amplitude: 0.3)
        try WAVFile.write(noise.pcm(.s16), to: folder.path("in.wav"))
        let sox = "cat in.wav | sox -t wav - -t wav - pad 0 0"
        let line = format == "sox" ? sox : "ffmpeg -v error -i in.wav -f \(format) -"
        try Run.program("sh", ["-c", "\(line) | cat > out"], folder: folder.path).checked()
        let pipe = try FilledPipe.holding(try Bytes.read(folder.path("out")))
        let frames = try ReadBack(descriptor: pipe.reading).deliveredFrames
        #expect(try frames > 40_000 && frames == ReadBack.file(folder.path("out")).deliveredFrames)
    }
}
