import Conversion
import Foundation
import TestSupport
import Testing

@testable import Media

/// The writer loses no frame silently, stays failed once it failed, and writes nothing in an impossible format.
@Suite struct WriterContractTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private static let stereo = ResolvedFormat(
        container: .wav,
        codec: .pcm,
        sampleRateHz: 44_100,
        channelCount: 2,
        layout: .stereo,
        bitDepth: 16,
        sampleKind: .integer,
        endianness: .little
    )

    private func noise(_ frames: Int) throws -> [PCMBlock] {
        try Signal.noise(seed: 7, rate: 44_100, frames: frames, channels: 2).pcm(.s16).blocks(of: 4096)
    }

    private func append(_ blocks: [PCMBlock], to input: WriterInput) throws {
        var block = try SampleBlock()
        for part in blocks {
            try block.fill(from: part)
            try input.append(&block)
        }
    }

    // MARK: Failing

    /// A file that cannot grow: whatever the container writes, and however late, the result is a failure.
    @Test(arguments: FormatRow.all) func fullDestinationIsAlwaysAFailure(row: FormatRow) throws {
        let format = try AudioFormat(container: row.rule.container, codec: row.rule.codec).resolved(
            for: AudioShape(
                sampleRateHz: row.rule.codec == .opus ? 48_000 : 44_100,
                channelCount: 2,
                bitDepth: 16,
                codecName: "pcm_s16le",
                isLossless: true
            )
        )
        let blocks = try Signal.noise(seed: 7, rate: format.sampleRateHz, frames: 9_000, channels: 2).pcm(.s16)
            .blocks(of: 4096)
        for room in [0, 1, 64, 700, 1_400] {
            let file = try MemoryFile.sealed(size: room)
            let writer = try Writer(descriptor: file.descriptor, format: format)
            let code = Converted.code {
                try append(blocks, to: writer.samples())
                _ = try writer.finish()
            }
            #expect(code == .destinationIO, "\(row.testDescription) in \(room) bytes")
        }
    }

    @Test func failedWriterThrowsAtEveryLaterCall() throws {
        let file = try MemoryFile.sealed(size: 4096)
        let writer = try Writer(descriptor: file.descriptor, format: Self.stereo)
        let input = try writer.samples()
        let blocks = try noise(400_000)
        let first = #expect(throws: MediaError.self) { try append(blocks, to: input) }
        #expect(first?.code == .destinationIO && first?.stage == .write && first?.libavName == "EPERM")
        for _ in 0..<2 {
            #expect(Converted.code { try append(blocks, to: input) } == .writerFailed)
            #expect(Converted.code { _ = try writer.finish() } == .writerFailed)
        }
    }

    @Test func inputThatOutlivesItsWriterThrows() throws {
        let file = try MemoryFile.open()
        var writer: Writer? = try Writer(descriptor: file.descriptor, format: Self.stereo)
        let input = try #require(writer).samples()
        writer = nil
        #expect(writer == nil)
        let blocks = try noise(1_000)
        #expect(Converted.code { try append(blocks, to: input) } == .writerFailed)
    }

    @Test func fullDiskIsNamed() throws {
        let source = folder.path("source.wav")
        try WAVFile.write(Signal.noise(seed: 7, rate: 44_100, frames: 60_000).pcm(.s16), to: source)
        for row in FormatRow.all where [Codec.pcm, .flac, .aac, .mp3].contains(row.rule.codec) {
            let words = [source, folder.path("out"), row.rule.container.rawValue, row.rule.codec.rawValue]
            #expect(try MediaProcess.convert(words, fileSizeLimit: 4) == "disk_full", "\(row.testDescription)")
        }
    }

    @Test func writerIsFinishedOnce() throws {
        let file = try OpenFile.creating(folder.path("once.wav"))
        let writer = try Writer(descriptor: file.descriptor, format: Self.stereo)
        let input = try writer.samples()
        try append(noise(10), to: input)
        #expect(try writer.finish().writtenFrames == 10)
        #expect(Converted.code { _ = try writer.finish() } == .alreadyFinished)
        #expect(Converted.code { try append(noise(10), to: input) } == .alreadyFinished)
        #expect(try Decoded.file(folder.path("once.wav")).frames == 10)
    }

    @Test func writerHasOneInput() throws {
        let file = try OpenFile.creating(folder.path("one.wav"))
        let writer = try Writer(descriptor: file.descriptor, format: Self.stereo)
        #expect(Converted.code { _ = try writer.finish() } == .writerFailed)
        _ = try writer.samples()
        #expect(Converted.code { _ = try writer.samples() } == .writerFailed)
    }

    // MARK: Destinations

    @Test func destinationsThatCannotTakeAFileAreRefused() throws {
        let path = folder.path("file")
        try Bytes.write([], to: path)
        func code(_ flags: Int32, _ path: String) throws -> FailureCode? {
            let file = OpenFile(adopting: open(path, flags | O_CLOEXEC))
            try #require(file.descriptor >= 0)
            let descriptor = file.descriptor
            return Converted.code { _ = try Writer(descriptor: descriptor, format: Self.stereo) }
        }
        #expect(try code(O_RDONLY, path) == .destinationIO)
        // Completing a header requires reading back what was written.
        #expect(try code(O_WRONLY, path) == .destinationIO)
        // With O_APPEND, Linux appends whatever the offset.
        #expect(try code(O_RDWR | O_APPEND, path) == .destinationIO)
        #expect(try code(O_RDWR, "/dev/full") == .destinationNotSeekable)
        #expect(try code(O_RDONLY, folder.path) == .destinationNotSeekable)
        let pipe = try OpenPipe.open()
        let intoPipe = Converted.code { _ = try Writer(descriptor: pipe.writing, format: Self.stereo) }
        #expect(intoPipe == .destinationNotSeekable)
        #expect(Converted.code { _ = try Writer(descriptor: -1, format: Self.stereo) } == .destinationIO)
    }

    @Test func oldBytesAreNoPartOfTheOutput() throws {
        let path = folder.path("old.wav")
        try Bytes.write([UInt8](repeating: 0x55, count: 50_000), to: path)
        let file = try OpenFile.changing(path)
        let writer = try Writer(descriptor: file.descriptor, format: Self.stereo)
        try append(noise(100), to: writer.samples())
        let summary = try writer.finish()
        #expect(try Int64(Bytes.size(of: path)) == summary.bytes)
        #expect(try FFmpeg.decode(path).frames == 100)
    }

    // MARK: Counting

    /// Tests the check itself by withholding a packet from the writer: promised and received frames must agree.
    @Test func framesThatNeverCameAreNoticed() throws {
        let source = folder.path("source.flac")
        let wav = folder.path("source.wav")
        try WAVFile.write(Signal.noise(seed: 1, rate: 44_100, frames: 20_000).pcm(.s16), to: wav)
        try Converted.file(wav, to: source, as: AudioFormat(container: .flac))
        let input = try OpenFile.reading(source)
        let output = try OpenFile.creating(folder.path("short.mka"))
        let reader = try Reader(descriptor: input.descriptor)
        let track = try reader.track()
        let format = try AudioFormat(container: .mka, codec: .copy).resolved(for: track.shape)
        let writer = try Writer(descriptor: output.descriptor, format: format)
        let packets = try reader.packets(of: track)
        let sink = try writer.packets(of: packets)
        var packet = try Packet()
        var count = 0
        while try packets.next(into: &packet) {
            count += 1
            if count != 3 { try sink.append(&packet) }
        }
        #expect(Converted.code { _ = try writer.finish() } == .frameCountMismatch)
    }

    // MARK: No frames at all

    @Test(arguments: FormatRow.all) func outputWithoutAFrameIsAFileOfSamplesOrAnError(row: FormatRow) throws {
        let path = folder.path("empty." + row.rule.container.fileExtensions[0])
        let file = try OpenFile.creating(path)
        let shape = AudioShape(
            sampleRateHz: row.rule.codec == .opus ? 48_000 : 44_100,
            channelCount: 2,
            bitDepth: 16,
            codecName: "pcm_s16le",
            isLossless: true
        )
        let format = try AudioFormat(container: row.rule.container, codec: row.rule.codec).resolved(for: shape)
        let writer = try Writer(descriptor: file.descriptor, format: format)
        _ = try writer.samples()
        let holdsSamples = [Codec.pcm, .ulaw, .alaw].contains(row.rule.codec)
        guard holdsSamples, ![.w64, .mka].contains(row.rule.container) else {
            #expect(Converted.code { _ = try writer.finish() } == .emptyOutput)
            return
        }
        let summary = try writer.finish()
        #expect(summary.plannedFrames == 0 && summary.writtenFrames == 0)
        #expect(try Verifier.verify(descriptor: file.descriptor, format: format, against: summary).frames == 0)
        if row.rule.container != .raw {
            let probe = try FFmpeg.probe(path)
            #expect(probe.audio.first?.rate == 44_100 && probe.audio.first?.channels == 2)
        }
    }

    // MARK: Nonsense

    /// Formats that did not come from the resolver: each is refused, and not a byte is written.
    @Test func formatsThatAreNotInTheTableAreRefused() throws {
        var wrong: [(String, ResolvedFormat)] = []
        func add(_ name: String, _ change: (inout ResolvedFormat) -> Void) {
            var format = Self.stereo
            change(&format)
            wrong.append((name, format))
        }
        add("no rate") { $0.sampleRateHz = 0 }
        add("a negative rate") { $0.sampleRateHz = -44_100 }
        add("a layout of another count") { $0.channelCount = 6 }
        add("no channels") { ($0.channelCount, $0.layout) = (0, .discrete(0)) }
        add("a thousand channels") { ($0.channelCount, $0.layout) = (1000, .discrete(1000)) }
        add("12 bits") { $0.bitDepth = 12 }
        add("16-bit floats") { $0.sampleKind = .float }
        add("big-endian WAV") { $0.endianness = .big }
        add("little-endian AIFF") { $0.container = .aiff }
        add("WAV of Opus") { $0.codec = .opus }
        add("MP3 in WebM") { ($0.container, $0.codec) = (.webm, .mp3) }
        add("MP3 at 44,000") { ($0.container, $0.codec, $0.sampleRateHz) = (.mp3, .mp3, 44_000) }
        add("MP3 with six channels") {
            ($0.container, $0.codec, $0.channelCount, $0.layout) = (.mp3, .mp3, 6, .fivePointOne)
        }
        add("MP3 at 100k") { ($0.container, $0.codec, $0.bitRate) = (.mp3, .mp3, 100_000) }
        add("MP3 of quality 11") { ($0.container, $0.codec, $0.quality) = (.mp3, .mp3, 11) }
        add("both bit rate and quality") {
            ($0.container, $0.codec, $0.bitRate, $0.quality) = (.mp3, .mp3, 128_000, 2)
        }
        add("AAC at 1 bit/s") { ($0.container, $0.codec, $0.bitRate) = (.m4a, .aac, 1) }
        add("Opus at 44,100") { ($0.container, $0.codec) = (.ogg, .opus) }
        add("FLAC of 32 bits") { ($0.container, $0.codec, $0.bitDepth) = (.flac, .flac, 32) }
        add("PCM with a bit rate") { $0.bitRate = 1_411_200 }
        let path = folder.path("never")
        let file = try OpenFile.creating(path)
        for (name, format) in wrong {
            let descriptor = file.descriptor
            let code = Converted.code {
                let writer = try Writer(descriptor: descriptor, format: format)
                try append(noise(100), to: writer.samples())
                _ = try writer.finish()
            }
            #expect(code == .formatRefused, "\(name)")
            #expect(try Bytes.size(of: path) == 0, "\(name)")
        }
    }

    @Test func copyTakesNoSamples() throws {
        var format = Self.stereo
        format.codec = .copy
        let file = try OpenFile.creating(folder.path("copy.wav"))
        let writer = try Writer(descriptor: file.descriptor, format: format)
        #expect(Converted.code { _ = try writer.samples() } == .passthroughRefused)
    }
}
