import Conversion
import TestSupport
import Testing

@testable import Media

/// Headers of programs that wrote to a pipe: their stated length is a placeholder.
@Suite struct StreamedHeaderTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private let clip = Signal.sweep(rate: 44_100, frames: 30_001, channels: 2).pcm(.s16)

    /// Runs a shell command in the folder.
    private func shell(_ line: String) throws {
        try Run.program("sh", ["-c", line], folder: folder.path).checked()
    }

    private func outcome(_ name: String) throws -> Converter.Outcome {
        try Converted.file(folder.path(name), to: folder.path("out.wav"), as: AudioFormat(container: .wav))
    }

    /// Commands that write a file of `in.wav` through a pipe.
    static let losslessWriters = [
        ("a.wav", "ffmpeg -v error -i in.wav -f wav - | cat > a.wav"),
        ("rf.wav", "ffmpeg -v error -i in.wav -rf64 always -f wav - | cat > rf.wav"),
        ("a.w64", "ffmpeg -v error -i in.wav -f w64 - | cat > a.w64"),
        ("a.aiff", "ffmpeg -v error -i in.wav -f aiff - | cat > a.aiff"),
        ("a.au", "ffmpeg -v error -i in.wav -f au - | cat > a.au"),
        ("a.caf", "ffmpeg -v error -i in.wav -f caf - | cat > a.caf"),
        ("s.wav", "cat in.wav | sox -t wav - -t wav - pad 0 0 | cat > s.wav"),
        ("s.aiff", "cat in.wav | sox -t wav - -t aiff - pad 0 0 | cat > s.aiff"),
        ("s.aifc", "cat in.wav | sox -t wav - -t aifc - pad 0 0 | cat > s.aifc"),
        ("s.au", "cat in.wav | sox -t wav - -t au - pad 0 0 | cat > s.au"),
    ]
    private static let lame = ("l.wav", "lame --quiet in.wav in.mp3; lame --quiet --decode in.mp3 - > l.wav")

    @Test(arguments: losslessWriters + [lame])
    func lengthIsWhatIsThere(name: String, line: String) throws {
        try WAVFile.write(clip, to: folder.path("in.wav"))
        try shell(line)
        let outcome = try self.outcome(name)
        #expect(outcome.damage.isEmpty && outcome.sourceFrames == 30_001)
        if !["s.wav", "s.au"].contains(name) { #expect(outcome.source.length == .none) }
        let sound = try WAVFile.read(path: folder.path("out.wav"))
        if name != "l.wav" { #expect(try sound.snr(against: clip).min()! > 85) }
        let told = outcome.remarks.filter { $0.kind == .headerLengthIgnored }.count
        #expect(told <= 1)
        if !["s.au", "s.wav"].contains(name) { #expect(told == 1) }
    }

    @Test func speechOnStandardOutputIsWhole() throws {
        try shell("espeak-ng --stdout 'twenty two words' > a.wav")
        let bytes = try Bytes.read(folder.path("a.wav"))
        let outcome = try self.outcome("a.wav")
        #expect(outcome.sourceFrames == Int64(bytes.count - 44) / 2 && outcome.damage.isEmpty)
        #expect(outcome.remarks.map(\.kind) == [.headerLengthIgnored])
        #expect(try FFmpeg.decode(folder.path("a.wav")).frames == Int(outcome.sourceFrames))
    }

    /// The placeholders of ffmpeg, arecord, espeak-ng and LAME, and the same less a header or rounded to frames.
    @Test(
        arguments: [
            0, 0xFFFF_FFFF, 0xFFFF_FFFE, 0xFFFF_FFFF - 44, 0xFFFF_F000, 0x7FFF_F000, 0x7FFF_FFFF, 0x8000_0000,
            0x8000_0000 - 44, 0x7FFF_FFFC, 0x7FFF_FF00,
        ] as [UInt32]
    )
    func placeholderIsNoLength(size: UInt32) throws {
        try WAVFile.write(clip, to: folder.path("a.wav"), options: .init(claimedDataSize: size))
        let outcome = try self.outcome("a.wav")
        #expect(outcome.sourceFrames == 30_001 && outcome.damage.isEmpty)
        #expect(outcome.remarks.map(\.kind) == [.headerLengthIgnored])
        #expect(try WAVFile.read(path: folder.path("out.wav")) == clip)
    }

    /// The same headers on a pipe, where only the header is known.
    @Test(arguments: ["a.wav", "s.aiff", "a.au", "a.caf"]) func pipeIsReadToItsEnd(name: String) throws {
        try WAVFile.write(clip, to: folder.path("in.wav"))
        let isSox = name.hasPrefix("s")
        try shell(
            isSox
                ? "cat in.wav | sox -t wav - -t aiff - pad 0 0 | cat > s.aiff"
                : "ffmpeg -v error -i in.wav -f \(name.dropFirst(2)) - | cat > \(name)"
        )
        let pipe = try FilledPipe.holding(try Bytes.read(folder.path(name)))
        let read = try Decoded.descriptor(pipe.reading, nameHint: name)
        #expect(read.frames == 30_001 && read.damage.isEmpty && read.track.length == .none)
    }

    /// libav 7.1 does not recognise such a header.
    @Test(arguments: [("a.aiff", 4), ("a.aifc", 4), ("a.au", 8)])
    func sizeOfZeroIsNoLength(name: String, place: Int) throws {
        let (kind, order) = (name == "a.au" ? "au" : "aiff", name == "a.aifc" ? "le" : "be")
        try FFmpeg.encode(clip, to: folder.path(name), ["-f", kind, "-c:a", "pcm_s16\(order)"])
        var bytes = try Bytes.read(folder.path(name))
        bytes.replaceSubrange(place..<(place + 4), with: [0, 0, 0, 0])
        if kind == "aiff" {
            let sound = try #require(Bytes.find("SSND", in: bytes))
            bytes.replaceSubrange((sound + 4)..<(sound + 8), with: [0, 0, 0, 0])
        }
        try Bytes.write(bytes, to: folder.path(name))
        let outcome = try self.outcome(name)
        #expect(outcome.damage.isEmpty && outcome.sourceFrames == 30_001)
        #expect(try WAVFile.read(path: folder.path("out.wav")) == clip)
    }

    /// Sizes that a file might really have are trusted.
    @Test(arguments: [120_008, 200_000_000, 0x7000_0000, 0x9000_0000, 0xF000_0000] as [UInt32])
    func plausibleSizeThatIsNotThereIsTruncation(size: UInt32) throws {
        try WAVFile.write(clip, to: folder.path("a.wav"), options: .init(claimedDataSize: size))
        #expect(Converted.code { _ = try outcome("a.wav") } == .truncated)
    }

    @Test(arguments: [("a.aiff", 4), ("a.w64", 8), ("a.au", 4), ("a.caf", 8)])
    func cutFileOfItsKindIsTruncatedStill(name: String, _: Int) throws {
        try FFmpeg.encode(clip, to: folder.path(name), ["-c:a", name == "a.w64" ? "pcm_s16le" : "pcm_s16be"])
        try Bytes.truncate(folder.path(name), toFraction: 0.6)
        #expect(Converted.code { _ = try outcome(name) } == .truncated)
    }
}
