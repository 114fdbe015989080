import Conversion
import TestSupport
import Testing

@testable import Media

/// MP3 files grow: tags before, after and between frames, and whole files appended.
@Suite struct DamageMP3Tests {
    private let plain: SampleFile
    private let headed: SampleFile
    /// Where the frames of `plain` begin.
    private let places: [Int]

    init() throws {
        plain = try SampleFile.of(.mp3CBRWithoutHeader)
        headed = try SampleFile.of(.mp3VBR)
        places = try plain.packets().map(\.lowerBound)
    }

    private static let id3v1 = Array("TAG".utf8) + [UInt8](repeating: 0x20, count: 125)
    /// A tag whose picture is full of bytes that look like frame headers.
    private static let id3v2: [UInt8] =
        Array("ID3".utf8) + [4, 0, 0, 0, 0, 0x27, 0x08]
        + (0..<1250).flatMap { _ in [0xFF, 0xFB, 0x90, 0x64] as [UInt8] }
    private static let ape: [UInt8] = {
        let item: [UInt8] = [3, 0, 0, 0, 0, 0, 0, 0] + Array("Title".utf8) + [0] + Array("Odd".utf8)
        func block(_ flags: UInt8) -> [UInt8] {
            Array("APETAGEX".utf8) + [0xD0, 7, 0, 0, UInt8(item.count + 32), 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, flags]
                + [UInt8](repeating: 0, count: 8)
        }
        return block(0xA0) + item + block(0x80)
    }()
    private static let lyrics = Array("LYRICSBEGININD0000200LYR00005la la000034LYRICS200".utf8)

    enum Tag: CaseIterable {
        case id3v1, ape, lyrics, id3v2

        var bytes: [UInt8] {
            switch self {
            case .id3v1: DamageMP3Tests.id3v1
            case .ape: DamageMP3Tests.ape
            case .lyrics: DamageMP3Tests.lyrics
            case .id3v2: DamageMP3Tests.id3v2
            }
        }
    }

    @Test(arguments: [
        [Tag.id3v1], [.ape], [.lyrics, .id3v1], [.ape, .lyrics, .id3v1], [.id3v2], [.id3v2, .ape, .id3v1],
    ])
    func tagsBehindTheSoundAreNoSound(names: [Tag]) throws {
        let tags = names.map(\.bytes)
        let tagged = try DamageCheck(plain.bytes + tags.flatMap { $0 }, as: plain.kind, "tags behind")
        #expect(tagged.strict.error == nil)
        #expect(tagged.strict.samples == plain.clean.samples)
        // An incomplete last frame promises nothing, also if a tag follows.
        let cut = Damage.cut(plain.bytes, to: plain.bytes.count - 100) + tags.flatMap { $0 }
        let check = try DamageCheck(cut, as: plain.kind, "tags behind a cut")
        // A tag that belongs at the start marks the beginning of another file.
        let isJoined = names.first == .id3v2
        #expect(check.strict.error?.code == (isJoined ? .truncated : nil))
        #expect(check.conceal.frames == plain.clean.frames - (isJoined ? 0 : 1152))
        #expect(check.conceal.account.frames == (isJoined ? 1152 : 0))
    }

    /// The footer of an APE tag includes itself in its size. Regression: a size of 0 caused an endless loop.
    @Test func footerThatCountsNothingIsPassedBy() throws {
        let empty = Array(Self.ape.suffix(32).enumerated()).map { $0.offset == 12 ? 0 : $0.element }
        let check = try DamageCheck(plain.bytes + empty, as: plain.kind, "a footer of size 0 at the end")
        #expect(check.strict.samples == plain.clean.samples)
    }

    @Test(arguments: Tag.allCases) func tagsBetweenFramesAreNoSound(tag: Tag) throws {
        let bytes = Damage.inserted(tag.bytes, into: plain.bytes, at: places[20])
        let check = try DamageCheck(bytes, as: plain.kind, "a tag between")
        #expect(check.strict.error == nil)
        #expect(check.strict.samples == plain.clean.samples)
    }

    @Test func joinedFilesKeepAllTheirFrames() throws {
        let folder = try TemporaryFolder.create()
        let joined = headed.bytes + Self.id3v1 + Self.id3v2 + headed.bytes
        let check = try DamageCheck(joined, as: headed.kind, "two files joined")
        #expect(check.strict.error == nil)
        // Nothing marks the start of the second part: it keeps its priming, and the first part its padding.
        let second = (check.strict.frames + 1105) / 2
        #expect(check.strict.frames == 2 * second - 1105 && second % 1152 == 0)
        #expect(SampleMath.isPrefix(headed.clean.samples, of: check.strict.samples, leavingOut: 1152))
        let error = SampleMath.greatestDifference(
            check.strict.samples,
            from: second + 1152,
            headed.clean.samples,
            from: 1152,
            count: min(check.strict.frames - second, headed.clean.frames) - 1152
        )
        #expect(error < 1e-4)
        try Bytes.write(headed.bytes + headed.bytes, to: folder.path("joined.mp3"))
        #expect(try FFmpeg.decode(folder.path("joined.mp3"), to: .f32).frames == check.strict.frames)
    }

    @Test func changesOfRateAndBitRateLoseNothing() throws {
        let folder = try TemporaryFolder.create()
        var bytes: [UInt8] = []
        var expected: [Int] = []
        for (rate, bitRate) in [(44_100, "128k"), (44_100, "64k"), (48_000, "128k"), (22_050, "64k"), (44_100, "96k")] {
            let sound = Signal.noise(seed: 3, rate: rate, frames: rate / 2, amplitude: 0.3).pcm(.s16)
            let path = folder.path("\(rate)-\(bitRate).mp3")
            try FFmpeg.encode(sound, to: path, ["-b:a", bitRate, "-write_xing", "0", "-id3v2_version", "0"])
            bytes += try Bytes.read(path)
            expected.append(try Readout(Bytes.read(path), name: "a.mp3").frames)
        }
        let whole = try Readout(bytes, name: "a.mp3")
        #expect(whole.error == nil)
        #expect(whole.frames == expected.reduce(0, +))
        #expect(!whole.hasOneRate)
    }

    @Test func headerThatCountsTooLittleCostsNothing() throws {
        var bytes = headed.bytes
        let header = try #require(Bytes.find("Xing", in: bytes) ?? Bytes.find("Info", in: bytes))
        let count = try Bytes.big(UInt32.self, in: bytes, at: header + 8)
        for (offset, byte) in withUnsafeBytes(of: (count / 2).bigEndian, Array.init).enumerated() {
            bytes[header + 8 + offset] = byte
        }
        let check = try DamageCheck(bytes, as: headed.kind, "half of the frames counted")
        #expect(check.strict.error == nil)
        #expect(SampleMath.isPrefix(headed.clean.samples, of: check.strict.samples))
        #expect(check.strict.frames == Int(count) * 1152 - 1105)
    }

    @Test func countInTheHeaderTellsWhatJunkHasCost() throws {
        let frames = try headed.packets()
        let junk = Damage.junk(3000)
        // Junk between two frames: nothing is missing. Junk in place of three frames: three are missing.
        let between = Damage.inserted(junk, into: headed.bytes, at: frames[15].lowerBound)
        let harmless = try DamageCheck(between, as: headed.kind, "junk between frames")
        #expect(harmless.strict.error == nil)
        #expect(harmless.strict.samples == headed.clean.samples)
        let gone = Damage.without(
            headed.bytes,
            at: frames[15].lowerBound,
            count: frames[18].lowerBound - frames[15].lowerBound
        )
        let check = try DamageCheck(
            Damage.inserted(junk, into: gone, at: frames[15].lowerBound),
            as: headed.kind,
            "junk"
        )
        #expect(check.strict.error?.code == .corruptStream)
        #expect(check.conceal.account.frames == 3 * 1152)
        #expect(check.conceal.frames == headed.clean.frames)
        #expect(check.conceal.fit(headed.clean, in: 35_000..<50_000) > 0.99)
    }

    @Test func junkWithoutACountIsDamage() throws {
        let bytes = Damage.inserted(Damage.junk(2 * 418), into: plain.bytes, at: places[20])
        let check = try DamageCheck(bytes, as: plain.kind, "junk between frames")
        #expect(check.strict.error?.code == .corruptStream)
        #expect(check.strict.error?.frame == Int64(20 * 1152))
        #expect(check.conceal.account.frames == 2 * 1152)
        // A few zeros are what editors leave behind; they are no damage.
        let padded = Damage.inserted([UInt8](repeating: 0, count: 60), into: plain.bytes, at: places[20])
        #expect(try DamageCheck(padded, as: plain.kind, "zeros between frames").strict.samples == plain.clean.samples)
    }

    @Test(arguments: [SampleFile.Kind.mp3CBR, .mp3VBR, .mp3CBRWithoutHeader, .mp2, .ac3, .eac3, .adts])
    func bareFramesAreReadAsFFmpegReadsThem(kind: SampleFile.Kind) throws {
        let folder = try TemporaryFolder.create()
        let sample = try SampleFile.of(kind)
        try Bytes.write(sample.bytes, to: folder.path(kind.fileName))
        let decoded = try FFmpeg.decode(folder.path(kind.fileName), to: .f32)
        #expect(decoded.frames == sample.clean.frames)
        let heard = decoded.singles(channel: 0)
        let count = min(heard.count, sample.clean.frames)
        let error = SampleMath.greatestDifference(heard, sample.clean.samples, count: count)
        #expect(error < 1e-3)
    }
}
