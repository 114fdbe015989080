import Conversion
import TestSupport
import Testing

@testable import Media

/// Excerpts of longer Ogg streams, such as recordings of broadcasts: they begin above zero, lack an end mark, or both.
@Suite struct OggExcerptTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    enum Kind: String, CaseIterable {
        case vorbis, opus, flac

        var program: (name: String, arguments: [String]) {
            switch self {
            case .vorbis: ("oggenc", ["-Q", "-q", "4", "in.wav", "-o", "whole.ogg"])
            case .opus: ("opusenc", ["--quiet", "--max-delay", "200", "in.wav", "whole.ogg"])
            case .flac: ("flac", ["-s", "--ogg", "-f", "in.wav", "-o", "whole.ogg"])
            }
        }

        var player: Player? {
            switch self {
            case .vorbis: .oggdec
            case .opus: .opusdec
            // The reference decoder plays silence up to the length in the header.
            case .flac: nil
            }
        }
    }

    enum Cut: CaseIterable { case start, end, both }

    private func whole(_ kind: Kind) throws -> OggFile {
        let clip = Signal.noise(seed: 4, rate: 48_000, frames: 48_000 * 7, channels: 2, amplitude: 0.3).pcm(.s16)
        try WAVFile.write(clip, to: folder.path("in.wav"))
        try Run.program(kind.program.name, kind.program.arguments, folder: folder.path).checked()
        return try OggFile(Bytes.read(folder.path("whole.ogg")))
    }

    private func outcome(_ bytes: [UInt8]) throws -> Converter.Outcome {
        try Bytes.write(bytes, to: folder.path("cut.ogg"))
        return try Converted.file(
            folder.path("cut.ogg"),
            to: folder.path("out.wav"),
            as: AudioFormat(container: .wav),
            verifies: true
        )
    }

    @Test(arguments: Kind.allCases, Cut.allCases) func excerptIsWhole(kind: Kind, cut: Cut) throws {
        // FLAC that starts at zero states its length, so cutting its end is truncation.
        if kind == .flac, cut == .end { return }
        var file = try whole(kind)
        let third = file.sound.count / 3
        try #require(third > 1)
        if cut != .start { file.sound.removeLast(third) }
        if cut != .end { file.sound.removeFirst(third) }
        // Icecast sends the headers and then pages with their original numbers.
        for bytes in [file.renumbered, file.bytes] {
            let outcome = try self.outcome(bytes)
            #expect(outcome.damage.isEmpty && !outcome.remarks.contains { $0.kind == .partialFrame })
            let sound = try WAVFile.read(path: folder.path("out.wav"))
            let reference = try FFmpeg.decode(folder.path("cut.ogg"))
            #expect(sound.frames == reference.frames && outcome.sourceFrames == Int64(sound.frames))
            guard let player = kind.player else { continue }
            let heard = try player.decode(folder.path("cut.ogg"), in: folder)
            try #require(heard.frames == sound.frames)
            #expect(try heard.snr(against: sound).min()! > 55)
        }
    }

    /// Opus states the exact length of an excerpt, wherever it begins.
    @Test func lengthOfAnExcerptIsPromised() throws {
        var file = try whole(.opus)
        file.sound.removeFirst(file.sound.count / 2)
        let outcome = try self.outcome(file.renumbered)
        #expect(outcome.source.length == .exact(outcome.sourceFrames))
    }

    /// An aborted download stops in the middle of a page.
    @Test(arguments: Kind.allCases) func brokenPageAtTheEndIsTruncation(kind: Kind) throws {
        let file = try whole(kind)
        let bytes = file.bytes.dropLast(file.sound.last!.count + 100)
        #expect(Converted.code { _ = try outcome(Array(bytes)) } == .truncated)
    }

    @Test func endThatTheHeaderOfFLACPromisesIsMissed() throws {
        var file = try whole(.flac)
        file.sound.removeLast(3)
        #expect(Converted.code { _ = try outcome(file.bytes) } == .truncated)
    }

    /// The reader notices a missing page between others, and a missing page after bytes that are no page.
    @Test(arguments: Kind.allCases) func lostPagesAreStillMissed(kind: Kind) throws {
        var file = try whole(kind)
        var broken = file
        file.sound.remove(at: file.sound.count / 2)
        #expect([.corruptStream, .timelineGap].contains(Converted.code { _ = try outcome(file.bytes) }))
        broken.sound[0][100] ^= 0xFF
        #expect(Converted.code { _ = try outcome(broken.bytes) } == .corruptStream)
    }

    /// The pages of a broadcast begin at a late number and position, behind headers that count no position, or behind a
    /// tag.
    @Test(arguments: Kind.allCases, [true, false]) func pagesThatBeginLateAreWhole(kind: Kind, hasTag: Bool) throws {
        var file = try whole(kind)
        for number in file.sound.indices {
            let granule = try Bytes.little(Int64.self, in: file.sound[number], at: 6)
            OggFile.setGranule(granule + 5_000_000, of: &file.sound[number])
        }
        if !hasTag { OggFile.setGranule(-1, of: &file.headers[file.headers.count - 1]) }
        let headers = file.headers.count
        let pages = file.renumbering { UInt32($0 < headers ? $0 : $0 + 700) }
        let tag: [UInt8] = Array("ID3".utf8) + [3, 0, 0, 0, 0, 0, 10] + [UInt8](repeating: 0, count: 10)
        let outcome = try self.outcome((hasTag ? tag : []) + pages)
        let sound = try WAVFile.read(path: folder.path("out.wav"))
        let reference = try FFmpeg.decode(folder.path("cut.ogg"))
        #expect(outcome.damage.isEmpty && sound.frames == reference.frames && sound.frames > 48_000 * 6)
    }

    /// libav ends FLAC in Ogg with an empty packet. The last page tells where it begins without it.
    @Test func skippedNumberBeforeTheLastPageLosesNothing() throws {
        let path = folder.path("a.ogg")
        let clip = Signal.noise(seed: 4, rate: 44_100, frames: 57_330, channels: 2, amplitude: 0.1).pcm(.s16)
        try FFmpeg.encode(clip, to: path, ["-c:a", "flac"])
        let file = try OggFile(Bytes.read(path))
        let last = file.headers.count + file.sound.count - 1
        try Bytes.write(file.renumbering { UInt32($0 == last ? $0 + 3 : $0) }, to: path)
        let read = try ReadBack.file(path)
        #expect(try read.damage.isEmpty && read.pcm.converted(to: .s16) == clip)
    }
}
