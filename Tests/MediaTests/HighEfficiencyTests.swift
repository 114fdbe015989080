import Conversion
import TestSupport
import Testing

@testable import Media

/// HE-AAC, in which SBR doubles the frames of each packet. Containers and tags count before or behind it.
///
/// No encoder of HE-AAC is at hand, so files of plain AAC get its header: decoders then double their frames, too.
@Suite struct HighEfficiencyTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder.create()
        path = folder.path("he.m4a")
    }

    /// The count of a container or a tag.
    enum Count: String, CaseIterable, Sendable {
        case core, doubled

        var scale: Int { self == .core ? 1 : 2 }
    }

    /// Frames before SBR: whole packets, with the priming of one.
    private static let coreFrames = 31 * 1_024
    private static let packets = 32

    /// Writes the file, with ticks of the rate before SBR or behind it.
    private func make(_ ticks: Count = .core, isHE: Bool = true, keepsEdits: Bool = false) throws {
        let sound = Signal.noise(seed: 73, rate: 22_050, frames: Self.coreFrames, channels: 2, amplitude: 0.2)
        try FFmpeg.encode(sound.pcm(.s16), to: path, ["-c:a", "aac", "-b:a", "64k", "-movie_timescale", "22050"])
        var bytes = try Bytes.read(path)
        func replace(_ name: String, at offset: Int, with number: Int) throws {
            let place = try #require(Bytes.find(name, in: bytes)) + 4 + offset
            bytes.replaceSubrange(place..<(place + 4), with: bigEndianBytes(Int64(number), count: 4))
        }
        if isHE {
            let descriptor: [UInt8] = [5, 0x80, 0x80, 0x80, 5]
            let place = try #require(Bytes.find(descriptor, in: bytes)) + 5
            // Object type 5, 22,050 Hz, two channels, doubled to 44,100 Hz, object type 2.
            let header: UInt64 = 0b00101_0111_0010_0100_00010_000 << 15
            bytes.replaceSubrange(place..<(place + 5), with: bigEndianBytes(Int64(header), count: 5))
        }
        if ticks == .doubled {
            try replace("mdhd", at: 12, with: 44_100)
            try replace("mdhd", at: 16, with: Self.packets * 2_048)
            try replace("stts", at: 4, with: 1)
            try replace("stts", at: 8, with: Self.packets)
            try replace("stts", at: 12, with: 2_048)
        }
        if !keepsEdits {
            let edits = try #require(Bytes.find("edts", in: bytes))
            bytes.replaceSubrange(edits..<(edits + 4), with: Array("free".utf8))
        }
        try Bytes.write(bytes, to: path)
    }

    /// All frames that the packets hold, by another decoder, before a tag is added.
    private func whole() throws -> PCM {
        let whole = try FFmpeg.decode(path, to: .f32)
        #expect(whole.frames == Self.packets * 2_048 && whole.rate == 44_100)
        return whole
    }

    private func read() throws -> PCM { try Decoded.file(path).pcm.converted(to: .f32) }

    /// Regression: such files were refused as truncated, because libav drops the frames of the tag as they are counted.
    @Test(arguments: Count.allCases, Count.allCases)
    func theTagOfITunesCountsBeforeOrBehindSBR(ticks: Count, tag: Count) throws {
        try make(ticks)
        let whole = try whole()
        let padding = 700
        let sound = Self.coreFrames - padding
        try MP4Bytes.addGaplessTag(
            path,
            priming: 1_024 * tag.scale,
            padding: padding * tag.scale,
            frames: sound * tag.scale
        )
        let read = try read()
        let isSame = try read == whole.cut(2_048..<(2_048 + 2 * sound))
        #expect(isSame && read.frames == 2 * sound)
        let track = try Decoded.file(path).track
        #expect(track.length == .exact(Int64(2 * sound)) && track.primingFrames == 2_048)
        #expect(track.paddingFrames == 2 * padding)
    }

    /// A tag of another file takes nothing out of the sound.
    @Test(arguments: [true, false]) func aTagThatContradictsThePacketsIsIgnored(isHE: Bool) throws {
        try make(isHE: isHE)
        let whole = try FFmpeg.decode(path, to: .f32)
        try MP4Bytes.addGaplessTag(path, priming: 2_112, padding: 100, frames: 31_000)
        let isSame = try read() == whole
        #expect(isSame)
        let outcome = try Converted.file(path, to: folder.path("out.wav"), as: AudioFormat(container: .wav))
        #expect(outcome.remarks.count { $0.kind == .headerLengthIgnored && $0.detail.contains("iTunSMPB") } == 1)
        #expect(outcome.sourceFrames == Int64(whole.frames))
    }

    @Test func aTagOfAnotherFileDoesNotChangeAnEditList() throws {
        try make(isHE: false, keepsEdits: true)
        let before = try read()
        try MP4Bytes.addGaplessTag(path, priming: 2_112, padding: 100, frames: 31_000)
        let isSame = try read() == before
        #expect(isSame && before.frames == Self.coreFrames)
    }

    /// Regression: the length was stated as exact, and more frames were converted.
    @Test(arguments: Count.allCases) func anEditListEndsTheSound(ticks: Count) throws {
        try make(ticks)
        let whole = try whole()
        try make(ticks, keepsEdits: true)
        for length in [Self.coreFrames, Self.coreFrames - 200, 20_000, 1_500] {
            try MP4Bytes.setEdit(
                path,
                movieTimescale: 22_050,
                start: UInt32(1_024 * ticks.scale),
                length: UInt32(length)
            )
            let decoded = try Decoded.file(path)
            #expect(decoded.track.length == .exact(Int64(2 * length)) && decoded.frames == 2 * length)
            let isSame = try decoded.pcm.converted(to: .f32) == whole.cut(2_048..<(2_048 + 2 * length))
            #expect(isSame)
        }
    }

    @Test(arguments: [
        (" 00000000 00000840 000001CA 00000000003F31F6 00000000", true), (" 00000000 00000840", false), ("", false),
        (" 00000000 -0000840 000001CA 00000000003F31F6", false), (" 0 1 2 0", false), (" 0 x 2 5", false),
    ])
    func numbersOfTheTagAreRead(text: String, isUsable: Bool) {
        let tag = GaplessTag(text)
        #expect((tag != nil) == isUsable)
        if let tag { #expect(tag.total == 0x840 + 0x1CA + 0x3F31F6 && tag.scaled(by: 2).total == 2 * tag.total) }
    }
}
