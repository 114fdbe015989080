import Conversion
import TestSupport
import Testing

@testable import Media

/// Files of the encoder libfaac. Its name in the first packet is the only evidence of how much priming there is.
@Suite struct FAACTests {
    private let folder: TemporaryFolder
    private static let sound = Signal.noise(seed: 41, rate: 44_100, frames: 60_000, channels: 2, amplitude: 0.2).pcm(
        .s16
    )
    private static let name = "libfaac 1.28"

    init() throws { folder = try TemporaryFolder.create() }

    /// A stream with the encoder's name in the packets of these numbers.
    private func adts(signed numbers: [Int]) throws -> String {
        let (plain, path) = (folder.path("plain.aac"), folder.path("signed.aac"))
        try FFmpeg.encode(Self.sound, to: plain, ["-c:a", "aac", "-b:a", "96k"])
        var frames = try AACFrames(adts: Bytes.read(plain))
        for number in numbers { frames.sign(number, Self.name) }
        try Bytes.write(frames.bytes, to: path)
        return path
    }

    /// The same packets in a container without an edit list, as `mp4creator` and similar programs write them.
    private func file(_ container: String, signed numbers: [Int]) throws -> String {
        let path = folder.path("signed.\(container)")
        let fragments = [
            "-bsf:a", "aac_adtstoasc", "-movflags", "+frag_keyframe+empty_moov+default_base_moof", "-frag_duration",
            "300000",
        ]
        try FFmpeg.encode(try adts(signed: numbers), to: path, ["-c", "copy"] + (container == "mp4" ? fragments : []))
        if container == "m4a" {
            var bytes = try Bytes.read(path)
            let edits = try #require(Bytes.find("edts", in: bytes))
            bytes.replaceSubrange(edits..<(edits + 4), with: Array("free".utf8))
            try Bytes.write(bytes, to: path)
        }
        return path
    }

    /// Regression: the decoder dropped 1,024 promised frames, and the file was reported as truncated.
    @Test(arguments: ["m4a", "aac", "mka"]) func primingThatTheNameTellsIsNoSound(container: String) throws {
        let path = container == "aac" ? try adts(signed: [0]) : try file(container, signed: [0])
        let plain = try FFmpeg.decode(folder.path("plain.aac"), to: .f32)
        let read = try Decoded.file(path)
        #expect(try read.pcm == plain.cut(1_024..<plain.frames))
        #expect(try read.pcm == FFmpeg.decode(path, to: .f32))
        #expect(read.damage.isEmpty)
        if container == "m4a" {
            #expect(read.track.length == .exact(Int64(plain.frames - 1_024)) && read.track.primingFrames == 1_024)
        }
        #expect(try Decoded.file(path, damage: .conceal).damage.isEmpty)
        let outcome = try Converted.file(
            path,
            to: folder.path("out.wav"),
            as: AudioFormat(container: .wav),
            verifies: true
        )
        #expect(outcome.sourceFrames == Int64(plain.frames - 1_024))
    }

    /// Regression: the last packet was left out.
    @Test func lengthOfTheMediaMayLeaveOutThePriming() throws {
        let path = try file("m4a", signed: [0])
        let whole = try Decoded.file(path)
        var bytes = try Bytes.read(path)
        let header = try #require(Bytes.find("mdhd", in: bytes)) + 4
        let stated = Int64(try Bytes.big(UInt32.self, in: bytes, at: header + 16))
        bytes.replaceSubrange((header + 16)..<(header + 20), with: bigEndianBytes(stated - 1_024, count: 4))
        try Bytes.write(bytes, to: path)
        let read = try Decoded.file(path)
        #expect(read.frames == whole.frames && read.track.length == whole.track.length && read.damage.isEmpty)
    }

    /// Regression: in fragments, the mark was passed over, and the priming was kept.
    @Test(arguments: [false, true]) func primingInFragmentsIsNoSound(fromPipe: Bool) throws {
        let path = try file("mp4", signed: [0])
        let plain = try FFmpeg.decode(folder.path("plain.aac"), to: .f32)
        let pipe = try FilledPipe.holding(Bytes.read(path))
        let read = fromPipe ? try Decoded.descriptor(pipe.reading) : try Decoded.file(path)
        let isSame = try read.pcm == plain.cut(1_024..<plain.frames)
        #expect(isSame && read.damage.isEmpty)
        #expect(read.track.primingFrames == 1_024)
    }

    @Test func anotherDecoderHearsAsMuch() throws {
        func heard(_ path: String) throws -> Int {
            let out = folder.path("faad.wav")
            _ = try Run.program("faad", ["-q", "-o", out, path]).checked()
            return try WAVFile.read(Bytes.read(out)).frames
        }
        let path = try adts(signed: [0])
        let plain = folder.path("plain.aac")
        // faad 2.10 leaves out the first packet of any stream, faad 2.11 none.
        let leftOut = try FFmpeg.decode(plain).frames - heard(plain)
        #expect([0, 1_024].contains(leftOut))
        #expect(try heard(path) + leftOut == Decoded.file(path).frames + 1_024)
    }

    /// Where streams were joined or cut, the name lies in the middle of the sound, and libav drops a packet there.
    @Test(arguments: ["m4a", "aac", "mka"]) func nameInTheMidstOfASoundTakesNothingOutOfIt(container: String) throws {
        let path = container == "aac" ? try adts(signed: [20]) : try file(container, signed: [20])
        let plain = try FFmpeg.decode(folder.path("plain.aac"), to: .f32)
        let read = try Decoded.file(path)
        #expect(read.pcm == plain && read.damage.isEmpty)
        #expect(try FFmpeg.decode(path).frames == plain.frames - 1_024)
    }

    /// A container's edit list takes precedence over the name.
    @Test func editListHasTheLastWord() throws {
        let path = folder.path("edited.m4a")
        try FFmpeg.encode(try adts(signed: [0]), to: path, ["-c", "copy"])
        let read = try Decoded.file(path)
        #expect(try read.pcm == FFmpeg.decode(folder.path("plain.aac"), to: .f32) && read.damage.isEmpty)
    }

    @Test func packetsTakeTheirPrimingAlong() throws {
        let source = try file("m4a", signed: [0])
        let expected = try Decoded.file(source).pcm
        for container in [Container.m4a, .mka] {
            let path = folder.path("copied.\(container.fileExtensions[0])")
            let format = AudioFormat(container: container, codec: .copy)
            #expect(try Converted.file(source, to: path, as: format, verifies: true).sourceFrames == expected.frames)
            #expect(try Decoded.file(path).pcm == expected)
        }
    }

    @Test func rangesCountFromTheFirstFrameOfSound() throws {
        let source = try file("m4a", signed: [0])
        let expected = try Decoded.file(source).pcm
        let parts = [0..<10, 1_000..<40_000, 5..<3_000]
        let ranges = try parts.map { part in
            try MediaTimeRange(
                start: MediaTime(value: Int64(part.lowerBound), timescale: 44_100),
                end: MediaTime(value: Int64(part.upperBound), timescale: 44_100)
            )
        }
        #expect(try ReadBack.file(source, ranges).pcm == PCM.joined(parts.map { try expected.cut($0) }))
    }
}
