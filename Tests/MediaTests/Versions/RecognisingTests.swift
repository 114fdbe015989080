import Conversion
import TestSupport
import Testing

@testable import Media

/// Sources that begin like WAV, FLAC or Ogg are opened without asking all demuxers of libav. It must agree.
@Suite struct RecognisingTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private static let certain = ["wav", "flac", "ogg"]

    /// The beginnings of real files, behind which any bytes may follow.
    @Test(arguments: certain) func libavTakesThemForTheSame(name: String) throws {
        var generator = SeededGenerator(seed: 18)
        let path = folder.path("real.\(name)")
        let codecs = ["wav": "pcm_s16le", "flac": "flac", "ogg": "libopus"]
        let codec = try #require(codecs[name])
        try FFmpeg.encode(Signal.tone(440, rate: 48_000, frames: 48_000).pcm(.s16), to: path, ["-c:a", codec])
        let real = try Bytes.read(path)
        let rules = ContainerRegistry.rules(demuxer: name)
        let least = try #require(["wav": 257, "flac": 21, "ogg": 28][name])
        for count in 0...257 {
            #expect(rules.isCertain(Array(real.prefix(count))) == (count >= least), "\(count) bytes")
        }
        #expect(ContainerRegistry.sources.filter { $0.value.isCertain(Array(real.prefix(257))) }.map(\.key) == [name])
        var certain = 0
        for round in 0..<60 {
            // Other containers' marks, long runs of one byte, and noise.
            var bytes = Array(real.prefix([12, 28, 60][round % 3]))
            let marks: [[UInt8]] = [[0xFF, 0xFB, 0x90, 0x64], [0x47], [0, 0, 1, 0xBA], Array("ftypM4A ".utf8), [0]]
            while bytes.count < 20_000 {
                let mark = marks[Int.random(in: 0..<marks.count, using: &generator)]
                for _ in 0..<Int.random(in: 1...40, using: &generator) { bytes += mark }
                let noise = Int.random(in: 0...200, using: &generator)
                bytes += generator.bytes(noise)
            }
            guard rules.isCertain(Array(bytes.prefix(257))) else { continue }
            certain += 1
            let other = folder.path("\(round).\(name)")
            try Bytes.write(bytes, to: other)
            let file = try OpenFile.reading(other)
            let source = try ByteSource(descriptor: file.descriptor, stop: StopSignal())
            #expect(Demuxer.isRecognised(source, as: name), "round \(round)")
        }
        #expect(certain > 15)
    }

    /// A dictating machine's files begin with the header of a WAV file.
    @Test func aFileThatOnlyBeginsLikeWAVIsWhatItIs() throws {
        let path = folder.path("dictation.wav")
        try WAVFile.write(Signal.tone(440, rate: 8_000, frames: 8_000).pcm(.s16), to: path)
        var bytes = try Array(Bytes.read(path).prefix(44)) + [UInt8](repeating: 0, count: 4_052)
        try Bytes.write(bytes, to: path)
        #expect(try demuxer(path) == "wav")
        bytes[256] = 0x84
        try Bytes.write(bytes, to: path)
        let error = #expect(throws: MediaError.self) { try demuxer(path) }
        #expect(error?.code == .containerNotAllowed)
    }

    private func demuxer(_ path: String) throws -> String {
        let file = try OpenFile.reading(path)
        return try Demuxer(ByteSource(descriptor: file.descriptor, stop: StopSignal()), .init(nameHint: path)).name
    }
}
