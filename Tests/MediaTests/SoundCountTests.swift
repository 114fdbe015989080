import Conversion
import TestSupport
import Testing

@testable import Media

/// Headers that count less sound than there is: markers of an unknown length, sizes that do not fit into 32 bits, and
/// counts that were never brought up to date.
@Suite struct SoundCountTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    // MARK: Markers

    /// What programs write that do not know the length, and the same less a header or rounded to whole frames.
    @Test(
        arguments: [
            ("ffmpeg", 0xFFFF_FFFF), ("GStreamer", 0), ("SoX, WAV", 0x7FFF_F000), ("SoX, AIFF", 0x7F00_0000),
            ("LAME", 0x7FFF_FFFF), ("arecord", 0x8000_0000), ("arecord less its header", 0x8000_0000 - 44),
            ("parec", 0x7FFF_FFFF - 36), ("in frames of six bytes", 0xFFFF_FFFF - 3), ("espeak-ng", 0x7FFF_F000 - 44),
        ] as [(String, Int64)]
    )
    func markersOfAllWritersAreKnown(writer: String, size: Int64) { #expect(SoundCount.isMarker(size), "\(writer)") }

    @Test(arguments: [1, 44, 0x7000_0000, 0x7FFF_0000, 0x8001_0000, 0xF000_0000, 0xFFFF_0000] as [Int64])
    func sizesThatAFileMayHaveAreNone(size: Int64) { #expect(!SoundCount.isMarker(size)) }

    @Test func wideSizesAreMarkersBeyondAllDisks() {
        for size in [0, -1, 1 << 60, .max] as [Int64] { #expect(SoundCount.isMarker(size, .bits64)) }
        for size in [1, 0xFFFF_FFFF, 0x7FFF_F000, 1 << 50] as [Int64] { #expect(!SoundCount.isMarker(size, .bits64)) }
    }

    /// The headers of a pipe, read from a file and from a pipe. RF64 and W64 gave nothing in pipes.
    @Test(arguments: StreamedHeaderTests.losslessWriters)
    func markersMeanToTheEndInFilesAndPipes(name: String, line: String) throws {
        let clip = Signal.noise(seed: 3, rate: 44_100, frames: 60_001, channels: 2).pcm(.s16)
        try WAVFile.write(clip, to: folder.path("in.wav"))
        try Run.program("sh", ["-c", line], folder: folder.path).checked()
        let fromFile = try ReadBack.file(folder.path(name))
        let pipe = try FilledPipe.holding(Bytes.read(folder.path(name)))
        let fromPipe = try ReadBack(descriptor: pipe.reading, options: .init(nameHint: name))
        for read in [fromFile, fromPipe] {
            #expect(read.damage.isEmpty)
            let isSame = try read.pcm.bytes == clip.bytes
            #expect(isSame)
        }
    }

    /// SoX's marker in a pipe that goes on behind it: 64 bytes a frame, so that a test need not decode hours.
    @Test func soundBehindTheMarkerIsReadFromAPipe() throws {
        let frames = 0x7FFF_F000 / 64 + 1_000
        let pipe = try OpenPipe.open()
        let stream = WAVFile.stream(
            frames: frames,
            rate: 48_000,
            channels: 8,
            format: .f64,
            claiming: 0x7FFF_F000,
            to: pipe.takeWriting()
        )
        let reader = try Reader(descriptor: pipe.reading)
        let output = try reader.samples(of: reader.track())
        var block = try SampleBlock()
        while try output.next(into: &block) {}
        #expect(output.deliveredFrames == Int64(frames))
        #expect(output.remarks.map(\.kind) == [.headerLengthIgnored])
        #expect(try stream.finish() == frames)
    }

    /// Regression: libav takes more than 2^31 frames for an error, so a pipe of one byte a frame was refused.
    @Test(arguments: [(0x7F00_0000, 0x7F00_0000), (0xFFFF_FFFF, 0xFFFF_FFFF), (0, 0)] as [(UInt32, UInt32)])
    func framesOfOneByteAreReadToTheEnd(stated: UInt32, frames: UInt32) throws {
        let sound = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 * 7) }
        let bytes = Self.aiff(stated: stated, frames: frames, channels: 1, bits: 8) + sound
        try Bytes.write(bytes, to: folder.path("a.aiff"))
        for fromPipe in [false, true] {
            #expect(try read("a.aiff", fromPipe: fromPipe, .strict).deliveredFrames == 100_000)
        }
    }

    /// Regression: a crash. libav returns the number of frames as an error that has no positive counterpart.
    @Test(arguments: [0x8000_0000, 0x8000_0001, 0xFFFF_FFF4] as [UInt32]) func manyFramesAreNoCrash(frames: UInt32)
        throws
    {
        try Bytes.write(
            Self.aiff(stated: 10_008, frames: frames) + [UInt8](repeating: 1, count: 10_000),
            to: folder.path("a.aiff")
        )
        #expect(Converted.code { _ = try read("a.aiff", fromPipe: false, .strict) } == .unreadableContainer)
    }

    // MARK: Files beyond 32 bits

    /// A header of 16-bit stereo at 48 kHz that counts `stated` bytes of sound.
    private static func wav(stated: UInt32) -> [UInt8] {
        var bytes = Array("RIFF".utf8)
        bytes.append(little: stated &+ 36)
        bytes += Array("WAVEfmt ".utf8) + [16, 0, 0, 0, 1, 0, 2, 0, 0x80, 0xBB, 0, 0, 0, 0xEE, 2, 0, 4, 0, 16, 0]
        bytes += Array("data".utf8)
        bytes.append(little: stated)
        return bytes
    }

    private static func aiff(stated: UInt32, frames: UInt32, channels: UInt8 = 2, bits: UInt8 = 16) -> [UInt8] {
        var bytes = Array("FORM".utf8) + big(stated &+ 38) + Array("AIFFCOMM".utf8) + big(18)
        // 48 kHz as a float of 80 bits.
        bytes += [0, channels] + big(frames) + [0, bits, 0x40, 0x0E, 0xBB, 0x80, 0, 0, 0, 0, 0, 0]
        return bytes + Array("SSND".utf8) + big(stated) + big(0) + big(0)
    }

    private static func big(_ number: UInt32) -> [UInt8] { bigEndianBytes(Int64(number), count: 4) }

    struct Large: Sendable, CustomTestStringConvertible {
        let name: String
        /// Bytes of sound.
        let bytes: Int64
        let header: [UInt8]
        var trail: [UInt8] = []
        /// Whether the header tells how long the sound is.
        var isCounted = true
        var testDescription: String { "\(name) \(bytes)" }
    }

    private static let beyond: Int64 = 1 << 32 + 40_000
    private static let list =
        Array("LIST".utf8) + [16, 0, 0, 0] + Array("INFOINAM".utf8) + [4, 0, 0, 0] + Array("name".utf8)

    private static let large: [Large] = {
        let wrapped = wav(stated: 40_000)
        let marked = wav(stated: 0x7FFF_F000)
        let au = Array(".snd".utf8) + big(24)
        let shape = big(3) + big(48_000) + big(2)
        return [
            Large(name: "wrapped.wav", bytes: beyond, header: wrapped),
            Large(name: "twice.wav", bytes: 1 << 32 + beyond, header: wrapped),
            Large(name: "tagged.wav", bytes: beyond, header: wrapped, trail: list),
            Large(name: "marked.wav", bytes: 0x8800_0000, header: marked, isCounted: false),
            Large(
                name: "marked.aiff",
                bytes: beyond,
                header: aiff(stated: 0x7F00_0000, frames: 0x1FC0_0000),
                isCounted: false
            ),
            Large(name: "wrapped.aiff", bytes: beyond, header: aiff(stated: 40_008, frames: 10_000)),
            Large(name: "wrapped.au", bytes: beyond, header: au + big(40_000) + shape),
            Large(name: "marked.au", bytes: beyond, header: au + big(0xFFFF_FFFF) + shape, isCounted: false),
            // libav refuses this size.
            Large(name: "half.au", bytes: 0x9000_0000, header: au + big(0x9000_0000) + shape),
        ]
    }()

    /// The sound is a hole with a thousand frames of noise at its end.
    @Test(arguments: large) func theEndOfALargeFileIsRead(file: Large) throws {
        let path = folder.path(file.name)
        try Bytes.write(file.header, to: path)
        let isBig = !file.name.hasSuffix("wav")
        let noise = Signal.noise(seed: 9, rate: 48_000, frames: 1_000, channels: 2).pcm(.s16)
        var last = noise.bytes
        if isBig { for place in stride(from: 0, to: last.count, by: 2) { last.swapAt(place, place + 1) } }
        try Bytes.overwrite(path, at: file.header.count + Int(file.bytes) - last.count, with: last + file.trail)
        let input = try OpenFile.reading(path)
        let reader = try Reader(descriptor: input.descriptor)
        let track = try reader.track()
        let frames = file.bytes / 4
        #expect(track.length == (file.isCounted ? .exact(frames) : .none))
        let end = MediaTime(frames: frames, rate: 48_000)
        let range = try MediaTimeRange(start: MediaTime(frames: frames - 1_000, rate: 48_000), end: end)
        let output = try reader.samples(of: track, ranges: [range])
        var block = try SampleBlock()
        var bytes: [UInt8] = []
        while try output.next(into: &block) { block.appendInterleaved(to: &bytes) }
        let isSame = bytes == noise.bytes
        #expect(isSame, "\(bytes.count) bytes")
    }

    // MARK: Counts that are too small

    private static let kinds = ["a.wav", "a.aiff", "a.au", "a.caf", "a.w64"]

    /// Three seconds whose header counts half of them, as of a recorder that died.
    private func halfCounted(_ name: String) throws -> (bytes: [UInt8], clip: PCM) {
        let clip = Signal.noise(seed: 5, rate: 44_100, frames: 132_300, channels: 2).pcm(.s16)
        let kind = String(name.dropFirst(2))
        try FFmpeg.encode(
            clip,
            to: folder.path(name),
            ["-c:a", ["wav", "w64"].contains(kind) ? "pcm_s16le" : "pcm_s16be"]
        )
        var bytes = try Bytes.read(folder.path(name))
        let half = Int64(66_150 * 4)
        func set(_ place: Int, _ number: Int64, _ count: Int, isBig: Bool) {
            let digits = bigEndianBytes(number, count: count)
            bytes.replaceSubrange(place..<(place + count), with: isBig ? digits : digits.reversed())
        }
        let data = try #require(Bytes.find(kind == "aiff" ? "SSND" : kind == "au" ? ".snd" : "data", in: bytes))
        switch kind {
        case "wav": set(data + 4, half, 4, isBig: false)
        case "aiff":
            set(data + 4, half + 8, 4, isBig: true)
            set(try #require(Bytes.find("COMM", in: bytes)) + 10, 66_150, 4, isBig: true)
        case "au": set(8, half, 4, isBig: true)
        case "caf": set(data + 4, half + 4, 8, isBig: true)
        default: set(data + 16, half + 24, 8, isBig: false)
        }
        try Bytes.write(bytes, to: folder.path(name))
        return (bytes, clip)
    }

    private func read(_ name: String, fromPipe: Bool, _ damage: DamageMode) throws -> ReadBack {
        let options = Reader.Options(nameHint: name, damage: damage)
        guard fromPipe else { return try ReadBack.file(folder.path(name), options: options) }
        let pipe = try FilledPipe.holding(Bytes.read(folder.path(name)))
        return try ReadBack(descriptor: pipe.reading, options: options)
    }

    @Test(arguments: kinds, [false, true]) func halfOfTheSoundIsNotTakenForAll(name: String, fromPipe: Bool) throws {
        let clip = try halfCounted(name).clip
        let error = #expect(throws: MediaError.self) { try read(name, fromPipe: fromPipe, .strict) }
        #expect(error?.code == .uncountedSound && error?.frame == 66_150)
        #expect(error?.detail.contains("counts 0:01.5 of sound, and the source holds 0:03: 264600 bytes") == true)
        for mode in [DamageMode.skip, .conceal] {
            let read = try read(name, fromPipe: fromPipe, mode)
            let isSame = try read.pcm.bytes == clip.cut(0..<66_150).bytes
            #expect(isSame)
            #expect(read.damage.stretches.map(\.code) == [.uncountedSound] && read.damage.frames == 0)
        }
    }

    /// Regression: of a pipe, half of the sound was taken and the rest dropped, and the report said that the packets were trusted.
    @Test(arguments: kinds, [false, true]) func trustedSoundIsTakenWholeOrRefused(name: String, fromPipe: Bool) throws {
        let clip = try halfCounted(name).clip
        if fromPipe {
            let error = #expect(throws: MediaError.self) { try read(name, fromPipe: true, .trustPackets) }
            #expect(error?.code == .uncountedSound && error?.hint?.hasPrefix("write it to a file") == true)
        } else {
            let isSame = try read(name, fromPipe: false, .trustPackets).pcm.bytes == clip.bytes
            #expect(isSame)
        }
    }

    /// Nothing is decoded first.
    @Test func aFileFailsBeforeItsSoundIsRead() throws {
        _ = try halfCounted("a.wav")
        let input = try OpenFile.reading(folder.path("a.wav"))
        let reader = try Reader(descriptor: input.descriptor)
        #expect(Converted.code { _ = try reader.samples(of: reader.track()) } == .uncountedSound)
    }

    @Test func aRangeOfTheCountedSoundIsRead() throws {
        let clip = try halfCounted("a.wav").clip
        let second = MediaTime(frames: 44_100, rate: 44_100)
        let range = try MediaTimeRange(start: MediaTime(frames: 0, rate: 44_100), end: second)
        let isSame = try ReadBack.file(folder.path("a.wav"), [range]).pcm.bytes == clip.cut(0..<44_100).bytes
        #expect(isSame)
    }

    @Test func packetsAreNotCopiedEither() throws {
        _ = try halfCounted("a.wav")
        let format = AudioFormat(container: .mka, codec: .copy)
        let code = Converted.code { try Converted.file(folder.path("a.wav"), to: folder.path("out.mka"), as: format) }
        #expect(code == .uncountedSound)
    }

    /// `cat a.wav b.wav`.
    @Test(arguments: [false, true]) func aSecondFileBehindTheFirstIsNotLost(fromPipe: Bool) throws {
        let clip = Signal.noise(seed: 6, rate: 8_000, frames: 16_000).pcm(.s16)
        let bytes = try WAVFile.bytes(clip)
        try Bytes.write(bytes + bytes, to: folder.path("a.wav"))
        #expect(Converted.code { _ = try read("a.wav", fromPipe: fromPipe, .strict) } == .uncountedSound)
    }

    @Test(arguments: kinds, [false, true]) func fewBytesAreToldWithTheirNumber(name: String, fromPipe: Bool) throws {
        let clip = Signal.noise(seed: 7, rate: 44_100, frames: 50_000, channels: 2).pcm(.s16)
        try FFmpeg.encode(clip, to: folder.path(name), ["-c:a", name.contains("w") ? "pcm_s16le" : "pcm_s16be"])
        let bytes = try Bytes.read(folder.path(name)) + [UInt8](repeating: 3, count: 777)
        try Bytes.write(bytes, to: folder.path(name))
        let input = try OpenFile.reading(folder.path(name))
        let pipe = try FilledPipe.holding(bytes)
        let output = try OpenFile.creating(folder.path("out.wav"))
        let request = Converter.Request(format: AudioFormat(container: .wav), nameHint: name)
        let source = fromPipe ? pipe.reading : input.descriptor
        let outcome = try Converter(request).run(from: source, to: output.descriptor)
        #expect(outcome.sourceFrames == 50_000 && outcome.damage.isEmpty)
        #expect(outcome.remarks.map(\.kind) == [.uncountedBytes] && outcome.remarks.first?.count == 777)
        #expect(try WAVFile.read(path: folder.path("out.wav")) == clip)
    }

    /// With its padding, without it, and with a chunk that the end of the source cuts.
    @Test(arguments: [false, true], [false, true]) func chunksBehindTheSoundAreNoSound(isPadded: Bool, fromPipe: Bool)
        throws
    {
        let clip = Signal.noise(seed: 8, rate: 8_000, frames: 4_001).pcm(.u8)
        var bytes = try WAVFile.bytes(clip)
        if bytes.count % 2 == 1 { bytes.append(0) }
        if !isPadded { bytes.removeLast() }
        let cut = Array("id3 ".utf8) + [0, 0, 1, 0] + [UInt8](repeating: 0x40, count: 30_000)
        try Bytes.write(bytes + Self.list + cut, to: folder.path("a.wav"))
        let read = try read("a.wav", fromPipe: fromPipe, .strict)
        #expect(read.damage.isEmpty && read.deliveredFrames == 4_001)
    }

    /// Regression: the report said that these bytes were no tag.
    @Test(arguments: kinds, [false, true]) func tagsOfAnyFileAreNoSound(name: String, fromPipe: Bool) throws {
        let clip = Signal.noise(seed: 7, rate: 44_100, frames: 50_000, channels: 2).pcm(.s16)
        try FFmpeg.encode(clip, to: folder.path(name), ["-c:a", name.contains("w") ? "pcm_s16le" : "pcm_s16be"])
        let tag = Array("TAGtitle".utf8) + [UInt8](repeating: 0, count: 120)
        try Bytes.write(Bytes.read(folder.path(name)) + tag, to: folder.path(name))
        let input = try OpenFile.reading(folder.path(name))
        let pipe = try FilledPipe.holding(try Bytes.read(folder.path(name)))
        let output = try OpenFile.creating(folder.path("out.wav"))
        let request = Converter.Request(format: AudioFormat(container: .wav), nameHint: name)
        let outcome = try Converter(request).run(
            from: fromPipe ? pipe.reading : input.descriptor,
            to: output.descriptor
        )
        #expect(outcome.sourceFrames == 50_000 && outcome.remarks.isEmpty)
    }

    // MARK: Trails

    /// In whatever pieces a pipe gives its bytes.
    @Test func aTrailIsTheSameInAllPieces() {
        let foreign = [UInt8](repeating: 0xAB, count: 50)
        for (bytes, expected) in [(Self.list, 0), (Self.list + foreign, 50), (foreign, 50), (Self.list + Self.list, 0)]
        {
            for step in 1...bytes.count {
                var trail = ChunkTrail(.riff, from: 100)
                for start in stride(from: 0, to: bytes.count, by: step) {
                    let piece = Array(bytes[start..<min(bytes.count, start + step)])
                    piece.withUnsafeBufferPointer { trail.take($0, at: Int64(100 + start)) }
                }
                #expect(trail.uncounted(in: Int64(100 + bytes.count)) == Int64(expected))
            }
        }
    }
}
