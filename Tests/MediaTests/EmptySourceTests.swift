import Conversion
import TestSupport
import Testing

@testable import Media

/// Sources that are whole and hold no frame. They convert to outputs without frames; a source that may have been cut
/// must still fail.
@Suite struct EmptySourceTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private func shell(_ line: String) throws {
        try Run.program("sh", ["-c", line], folder: folder.path).checked()
    }

    private func outcome(_ name: String, as container: Container = .wav) throws -> Converter.Outcome {
        let path = folder.path("out." + container.fileExtensions[0])
        return try Converted.file(folder.path(name), to: path, as: AudioFormat(container: container), verifies: true)
    }

    private func code(_ name: String) -> FailureCode? { Converted.code { _ = try outcome(name) } }

    private static let makers: [(name: String, line: String)] = [
        ("s.wav", "sox -n -r 44100 -c 1 -b 16 s.wav trim 0 0"),
        ("f.wav", "ffmpeg -v error -f lavfi -i anullsrc=r=44100:cl=mono -frames:a 0 -c:a pcm_s16le f.wav"),
        ("u.wav", "sox -n -r 44100 -c 1 -e u-law u.wav trim 0 0"),
        ("s.aiff", "sox -n -r 44100 -c 1 -b 16 s.aiff trim 0 0"),
        ("s.aifc", "sox -n -r 44100 -c 1 -b 16 s.aifc trim 0 0"),
        ("s.au", "sox -n -r 44100 -c 1 -b 16 s.au trim 0 0"),
        ("s.caf", "sox -n -r 44100 -c 1 -b 16 s.caf trim 0 0"),
        ("s.w64", "sox -n -r 44100 -c 1 -b 16 s.w64 trim 0 0"),
        ("f.w64", "ffmpeg -v error -f lavfi -i anullsrc=r=44100:cl=mono -frames:a 0 -c:a pcm_s16le f.w64"),
        ("f.flac", "sox -n -r 44100 -c 1 -b 16 s.wav trim 0 0; ffmpeg -v error -i s.wav f.flac"),
        ("o.ogg", "sox -n -r 44100 -c 1 -b 16 s.wav trim 0 0; oggenc -Q s.wav -o o.ogg"),
    ]

    @Test(arguments: makers) func emptySourceGivesAnEmptyOutput(name: String, line: String) throws {
        try shell(line)
        // ffmpeg does not open W64 without frames; sox does.
        if name.hasSuffix(".w64") {
            try shell("test $(soxi -s \(name)) = 0")
        } else {
            #expect(try FFmpeg.decode(folder.path(name)).frames == 0)
        }
        let outcome = try outcome(name)
        #expect(outcome.sourceFrames == 0 && outcome.damage.isEmpty && outcome.remarks.isEmpty)
        #expect(outcome.source.length == .exact(0))
        #expect(outcome.summary.plannedFrames == 0 && outcome.summary.writtenFrames == 0)
        #expect(try FFmpeg.decode(folder.path("out.wav")).frames == 0)
    }

    @Test(arguments: [Container.wav, .aiff, .aifc, .au, .caf]) func ownEmptyOutputIsASource(container: Container) throws
    {
        try shell(Self.makers[0].line)
        _ = try outcome("s.wav", as: container)
        let name = "out." + container.fileExtensions[0]
        let outcome = try Converted.file(
            folder.path(name),
            to: folder.path("again.wav"),
            as: AudioFormat(container: .wav)
        )
        #expect(outcome.sourceFrames == 0 && outcome.summary.writtenFrames == 0)
    }

    /// The bytes of every source, cut anywhere, prove nothing. The header of AU says only that the sound ends with the
    /// file.
    @Test(arguments: makers) func cutSourceIsNotEmpty(name: String, line: String) throws {
        try shell(line)
        let whole = try Bytes.read(folder.path(name))
        for kept in stride(from: 1, to: whole.count, by: max(1, whole.count / 50)) {
            try Bytes.write(Array(whole[..<kept]), to: folder.path("cut-" + name))
            #expect(code("cut-" + name) != nil, "\(kept) of \(whole.count) bytes")
        }
    }

    /// Each of these files of sound is cut where its header ends.
    @Test(arguments: [
        ("a.wav", "ffmpeg -v error -i in.wav -f wav - | cat > a.wav", "data", 8),
        ("b.wav", "cp in.wav b.wav", "data", 8),
        ("a.aiff", "ffmpeg -v error -i in.wav a.aiff", "SSND", 16),
        ("a.caf", "ffmpeg -v error -i in.wav a.caf", "data", 16),
        ("p.caf", "ffmpeg -v error -i in.wav -f caf - | cat > p.caf", "data", 16),
    ])
    func headerThatPromisesSoundIsNotEmpty(name: String, line: String, chunk: String, bytes: Int) throws {
        try WAVFile.write(Signal.sweep(rate: 44_100, frames: 3001, channels: 2).pcm(.s16), to: folder.path("in.wav"))
        try shell(line)
        let sound = try #require(Bytes.find(chunk, in: Bytes.read(folder.path(name))))
        try Bytes.truncate(folder.path(name), to: sound + bytes)
        #expect(code(name) != nil)
    }

    /// The total of zero also stands in FLAC that was written to a pipe, whose MD5 is zero, too.
    @Test func streamedFLACWithoutFramesIsNotEmpty() throws {
        try shell(Self.makers[9].line)
        try Bytes.overwrite(folder.path("f.flac"), at: 26, with: [UInt8](repeating: 0, count: 16))
        #expect(code("f.flac") == .noDecodableFrame)
    }

    /// Regression: the only packet of a short WMA fills the decoder, and no frame of it counted as all of them.
    @Test func soundThatTheDecoderKeepsIsNotEmpty() throws {
        let path = folder.path("a.wma")
        try FFmpeg.encode(Signal.sweep(rate: 44_100, frames: 882).pcm(.s16), to: path, ["-c:a", "wmav2"])
        // libav 7.1 gives the frames that its decoder has kept.
        let isKept = try FFmpeg.decode(path).frames == 0
        #expect(code("a.wma") == (isKept ? .noDecodableFrame : nil))
    }

    /// libav reads on behind a data chunk of size zero.
    @Test func tagsBehindAnEmptyDataChunkAreNoSound() throws {
        try shell(Self.makers[0].line)
        var bytes = try Bytes.read(folder.path("s.wav"))
        bytes += Array("LIST".utf8) + [16, 0, 0, 0] + Array("INFOINAM".utf8) + [4, 0, 0, 0] + Array("name".utf8)
        bytes[4] += 24
        try Bytes.write(bytes, to: folder.path("s.wav"))
        let outcome = try outcome("s.wav")
        #expect(outcome.sourceFrames == 0 && outcome.remarks.isEmpty)
    }

    /// A header that was never completed, before sound of any kind.
    @Test(arguments: [UInt8(0), 0x41]) func soundBehindAnUnsetSizeIsRead(sample: UInt8) throws {
        try shell(Self.makers[0].line)
        var bytes = try Bytes.read(folder.path("s.wav")) + [UInt8](repeating: sample, count: 800)
        bytes.replaceSubrange(4..<8, with: [UInt8(836 & 0xFF), UInt8(836 >> 8), 0, 0])
        try Bytes.write(bytes, to: folder.path("s.wav"))
        #expect(try outcome("s.wav").sourceFrames == 400)
    }

    @Test func emptySourceJoinsAnother() throws {
        let clip = Signal.sweep(rate: 44_100, frames: 3001, channels: 1).pcm(.s16)
        try WAVFile.write(clip, to: folder.path("a.wav"))
        try shell(Self.makers[0].line)
        let sources = try Sources(files: ["s": folder.path("s.wav"), "a": folder.path("a.wav")])
        let pieces = ["s", "a", "s"].map { Piece(.source($0)) }
        let joined = try sources.samples(of: Timeline(tracks: [.init(pieces: pieces)]))
        #expect(joined[0].count == 3001)
    }
}
