import Conversion
import TestSupport
import Testing

@testable import Media

/// What `make fuzz` found, as small as it gets.
@Suite struct FuzzFindingsTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    /// The mismatch was taken for our own, and the user was asked to report it.
    @Test func packetsBeyondThePromisedLengthAreTheSourcesFault() throws {
        let path = folder.path("long.flac")
        try WAVFile.write(Signal.noise(seed: 1, rate: 16_000, frames: 16_000).pcm(.s16), to: folder.path("a.wav"))
        try Converted.file(folder.path("a.wav"), to: path, as: AudioFormat(container: .flac))
        var bytes = try Bytes.read(path)
        // The last 32 bits of the 36 in which STREAMINFO counts frames.
        bytes.replaceSubrange(22..<26, with: [0, 0, 0x10, 0])
        try Bytes.write(bytes, to: path)
        let code = Converted.code {
            try Converted.file(path, to: folder.path("out.mka"), as: AudioFormat(container: .mka, codec: .copy))
        }
        #expect(code == .corruptStream)
    }

    /// To judge a packet that cannot be decoded, the next one is looked at, whose failure had no code.
    @Test(arguments: [DamageMode.strict, .conceal, .skip])
    func failureBehindAFailureHasACode(damage: DamageMode) throws {
        let path = folder.path("claims.m4a")
        try FFmpeg.encode(Signal.tone(440, rate: 16_000, frames: 16_000).pcm(.s16), to: path, ["-c:a", "aac"])
        var bytes = try Bytes.read(path)
        let sizes = try #require(Bytes.find("stsz", in: bytes)) + 16
        let first = Int(bytes[sizes + 2]) << 8 | Int(bytes[sizes + 3])
        // The second packet claims two gigabytes, and the first is noise.
        bytes.replaceSubrange(sizes + 4..<sizes + 8, with: [0x7F, 0, 0, 0])
        let sound = try #require(Bytes.find("mdat", in: bytes)) + 4
        bytes.replaceSubrange(sound..<sound + first, with: [UInt8](repeating: 0xFF, count: first))
        try Bytes.write(bytes, to: path)
        let input = try OpenFile.reading(path)
        let output = try OpenFile.creating(folder.path("out.wav"))
        let (source, destination) = (input.descriptor, output.descriptor)
        let request = Converter.Request(format: AudioFormat(container: .wav), damage: damage)
        #expect(throws: MediaError.self) { try Converter(request).run(from: source, to: destination) }
    }
}
