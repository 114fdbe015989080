import Conversion
import Foundation
import TestSupport
import Testing

@testable import Media

/// A pipe gives the same sound as a file, or it is refused by name: all that the first bytes tell holds in both.
@Suite struct PipeAgainstFileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private func fromPipe(_ bytes: [UInt8], _ name: String, _ damage: DamageMode = .strict) throws -> ReadBack {
        let pipe = try FilledPipe.holding(bytes)
        return try ReadBack(descriptor: pipe.reading, options: .init(nameHint: name, damage: damage))
    }

    private func fromFile(_ bytes: [UInt8], _ name: String, _ damage: DamageMode = .strict) throws -> ReadBack {
        try Bytes.write(bytes, to: folder.path(name))
        return try ReadBack.file(folder.path(name), options: .init(nameHint: name, damage: damage))
    }

    private func expectTheSame(_ bytes: [UInt8], _ name: String, _ damage: DamageMode = .strict) throws {
        let (file, pipe) = try (fromFile(bytes, name, damage), fromPipe(bytes, name, damage))
        #expect(pipe.deliveredFrames == file.deliveredFrames && pipe.damage == file.damage)
        let isSame = try pipe.pcm.bytes == file.pcm.bytes
        #expect(isSame)
    }

    // MARK: The corpus

    /// Their index lies behind their sound. A fragmented MP4 has one in each fragment.
    private static let refused: Set<SampleFile.Kind> = [.m4aALAC, .mp4FLAC, .cafALAC, .cafOpus, .m4aAAC, .mp4Opus]

    @Test(arguments: SampleFile.Kind.allCases)
    func everyKindGivesTheSameOrIsRefused(kind: SampleFile.Kind) throws {
        let bytes = try SampleFile.of(kind).bytes
        let code = Converted.code { _ = try fromPipe(bytes, kind.fileName) }
        if let code, Self.refused.contains(kind) {
            #expect(code == .sourceNotSeekable)
        } else {
            try expectTheSame(bytes, kind.fileName)
        }
    }

    // MARK: Bare frames

    /// Of LAME, with a cover in front, and with tags behind: 1,067 frames of padding more came from a pipe.
    @Test(arguments: ["", "--tt title", "--id3v1-only --tt title", "-V 2", "-t"])
    func mp3EndsWhereItsHeaderSays(arguments: String) throws {
        let clip = Signal.noise(seed: 31, rate: 44_100, frames: 88_201, channels: 2, amplitude: 0.3).pcm(.s16)
        try WAVFile.write(clip, to: folder.path("in.wav"))
        try Run.program("sh", ["-c", "lame --quiet \(arguments) in.wav a.mp3"], folder: folder.path).checked()
        let bytes = try Bytes.read(folder.path("a.mp3"))
        try expectTheSame(bytes, "a.mp3")
        guard arguments != "-t" else { return }
        #expect(try fromPipe(bytes, "a.mp3").deliveredFrames == 88_201)
        #expect(try fromPipe(bytes, "a.mp3").track.length == .exact(88_201))
    }

    @Test func aTagOfHalfAMegabyteIsNoObstacle() throws {
        let sound = try SampleFile.of(.mp3VBR).bytes
        let count = 500_000
        let digits = [21, 14, 7, 0].map { UInt8(count >> $0 & 0x7F) }
        let tag = Array("ID3".utf8) + [4, 0, 0] + digits + [UInt8](repeating: 0, count: count)
        try expectTheSame(tag + sound, "a.mp3")
    }

    @Test(arguments: [SampleFile.Kind.mp3CBR, .mp3VBR]) func aCutMP3IsTruncated(kind: SampleFile.Kind) throws {
        let bytes = try SampleFile.of(kind).bytes
        for share in [0.3, 0.7, 0.95] {
            let part = Array(bytes.prefix(Int(Double(bytes.count) * share)))
            #expect(Converted.code { _ = try fromPipe(part, kind.fileName) } == .truncated, "\(share)")
        }
    }

    /// More than a pipe keeps.
    @Test(arguments: ["mp3", "aac", "ac3"]) func aLongStreamIsReadToItsEnd(format: String) throws {
        let clip = Signal.noise(seed: 32, rate: 44_100, frames: 44_100 * 40, amplitude: 0.2).pcm(.s16)
        try FFmpeg.encode(clip, to: folder.path("a.\(format)"), ["-b:a", "160k"])
        try expectTheSame(Bytes.read(folder.path("a.\(format)")), "a.\(format)")
    }

    @Test(arguments: [SampleFile.Kind.mp3CBRWithoutHeader, .mp2, .ac3, .adts])
    func foreignBytesAreFound(kind: SampleFile.Kind) throws {
        let sample = try SampleFile.of(kind)
        let packets = try sample.packets()
        let place = packets[packets.count / 2].lowerBound
        let bytes = Array(sample.bytes[..<place]) + [UInt8](repeating: 0x5A, count: 3_000) + sample.bytes[place...]
        #expect(Converted.code { _ = try fromPipe(bytes, kind.fileName) } == .corruptStream)
        try expectTheSame(bytes, kind.fileName, .conceal)
        try expectTheSame(bytes, kind.fileName, .skip)
    }

    @Test(arguments: ["", "tags"]) func joinedFilesGiveAllTheirSound(tags: String) throws {
        let one = try SampleFile.of(.mp3CBR).bytes
        let tag = tags.isEmpty ? [] : Array("TAG".utf8) + [UInt8](repeating: 0x20, count: 125)
        try expectTheSame(one + tag + one + tag, "a.mp3")
    }

    /// Whatever the pieces in which the bytes come.
    @Test func aSlowPipeGivesTheSame() throws {
        let bytes = try SampleFile.of(.mp3VBR).bytes
        let pipe = try OpenPipe.open()
        let writer = SlowWriter(bytes, to: pipe.takeWriting())
        let read = try ReadBack(descriptor: pipe.reading, options: .init(nameHint: "a.mp3"))
        writer.join()
        let isSame = try read.pcm.bytes == fromFile(bytes, "a.mp3").pcm.bytes
        #expect(isSame)
    }

    // MARK: Ogg

    private static let ogg: [SampleFile.Kind] = [.oggFLAC, .oggVorbis, .oggOpus, .oggOpusShortPages]

    @Test(arguments: ogg) func missingPagesAreFound(kind: SampleFile.Kind) throws {
        var file = try OggFile(SampleFile.of(kind).bytes)
        file.sound.remove(at: file.sound.count / 2)
        let bytes = file.bytes
        let code = Converted.code { _ = try fromFile(bytes, kind.fileName) }
        #expect(code != nil && Converted.code { _ = try fromPipe(bytes, kind.fileName) } == code)
        try expectTheSame(bytes, kind.fileName, .conceal)
        try expectTheSame(bytes, kind.fileName, .skip)
    }

    @Test(arguments: [SampleFile.Kind.oggVorbis, .oggOpus]) func anExcerptBeginsWhereItBegins(kind: SampleFile.Kind)
        throws
    {
        var file = try OggFile(SampleFile.of(kind).bytes)
        file.sound.removeFirst(3)
        try expectTheSame(file.bytes, kind.fileName)
    }

    @Test func vorbisOfOnePageIsWhole() throws {
        let clip = Signal.noise(seed: 33, rate: 44_100, frames: 2_500, amplitude: 0.3).pcm(.s16)
        try FFmpeg.encode(clip, to: folder.path("a.ogg"), ["-c:a", "libvorbis"])
        try expectTheSame(Bytes.read(folder.path("a.ogg")), "a.ogg")
    }

    // MARK: Ends

    /// Their last packet states its size.
    @Test(arguments: [("a.ts", "-c:a mp2"), ("a.mpg", "-c:a mp2"), ("b.vob", "-c:a ac3")])
    func aCutStreamOfMPEGIsTruncated(name: String, codec: String) throws {
        let line = "ffmpeg -v error -f lavfi -i sine=d=2:r=48000 \(codec) -bitexact \(name)"
        try Run.program("sh", ["-c", line], folder: folder.path).checked()
        let bytes = try Bytes.read(folder.path(name))
        var codes: [FailureCode?] = []
        for cut in [0, 50, 238, 700, 3_000] {
            let part = Array(bytes.dropLast(cut))
            codes.append(Converted.code { _ = try fromPipe(part, name) })
            #expect(codes.last == Converted.code { _ = try fromFile(part, name) }, "\(cut)")
        }
        #expect(codes[0] == nil && codes.contains(.truncated))
    }

    // MARK: Headers

    /// Empty files are whole, and the pipe shows their end at once.
    @Test(arguments: [
        ("s.wav", "sox -n -r 44100 -c 1 -b 16 s.wav trim 0 0"), ("s.au", "sox -n -r 44100 -c 1 -b 16 s.au trim 0 0"),
        ("f.flac", "sox -n -r 44100 -c 1 -b 16 s.wav trim 0 0; ffmpeg -v error -i s.wav f.flac"),
    ])
    func anEmptySourceIsEmpty(name: String, line: String) throws {
        try Run.program("sh", ["-c", line], folder: folder.path).checked()
        let read = try fromPipe(Bytes.read(folder.path(name)), name)
        #expect(read.track.length == .exact(0) && read.deliveredFrames == 0)
    }

    /// A chunk in front of the sound is longer than what libav reads to recognise the format.
    @Test func aHeaderOfThirtyKilobytesIsRead() throws {
        let clip = Signal.noise(seed: 34, rate: 8_000, frames: 20_000).pcm(.s16)
        let options = WAVFile.Options(info: [("ICMT", String(repeating: "a", count: 30_000))])
        let bytes = try WAVFile.bytes(clip, options: options)
        #expect(try fromPipe(bytes, "a.wav").track.length == .exact(20_000))
        try expectTheSame(bytes, "a.wav")
    }

    /// Regression: the message called such a file broken.
    @Test(arguments: [("wav", "fmt ", 24), ("aiff", "COMM", 26)])
    func soundBeforeItsDescriptionIsRefusedByName(kind: (suffix: String, chunk: String, bytes: Int)) throws {
        let (path, name) = (folder.path("in.\(kind.suffix)"), "a.\(kind.suffix)")
        try FFmpeg.encode(Signal.noise(seed: 36, rate: 8_000, frames: 4_000).pcm(.s16), to: path, [])
        let bytes = try Bytes.read(path)
        let start = try #require(Bytes.find(kind.chunk, in: bytes))
        let end = start + kind.bytes
        let moved = Array(bytes[..<start]) + Array(bytes[end...]) + Array(bytes[start..<end])
        #expect(try fromFile(moved, name).deliveredFrames == 4_000)
        #expect(Converted.code { _ = try fromPipe(moved, name) } == .sourceNotSeekable)
    }

    /// Regression: behind a header of more than 64 KiB, a cut pipe was whole, and half of the sound was all of it.
    @Test func aHeaderOfThreeHundredKilobytesCounts() throws {
        let clip = Signal.noise(seed: 35, rate: 8_000, frames: 40_000).pcm(.s16)
        var bytes = try WAVFile.bytes(clip)
        bytes.insert(contentsOf: Array("JUNK".utf8) + [0, 0x94, 4, 0] + [UInt8](repeating: 0, count: 300_032), at: 12)
        #expect(try fromPipe(bytes, "a.wav").track.length == .exact(40_000))
        try expectTheSame(bytes, "a.wav")
        let cut = Array(bytes.dropLast(900))
        #expect(Converted.code { _ = try fromPipe(cut, "a.wav") } == .truncated)
        try expectTheSame(cut, "a.wav", .conceal)
        let more = bytes + [UInt8](repeating: 9, count: 20_000)
        #expect(Converted.code { _ = try fromPipe(more, "a.wav") } == .uncountedSound)
        try expectTheSame(more, "a.wav", .skip)
    }
}

/// Writes bytes to a pipe in pieces of many sizes, and closes it.
private final class SlowWriter: Sendable {
    private let done = DispatchSemaphore(value: 0)

    init(_ bytes: [UInt8], to descriptor: Int32) {
        Thread.detachNewThread { [done] in
            var place = 0
            while place < bytes.count {
                let piece = Array(bytes[place..<min(bytes.count, place + 1 + place % 997)])
                let written = withoutPipeSignal { write(descriptor, piece, piece.count) }
                guard written > 0 else { break }
                place += written
            }
            close(descriptor)
            done.signal()
        }
    }

    func join() { done.wait() }
}
