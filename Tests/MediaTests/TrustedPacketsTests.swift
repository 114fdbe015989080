import Conversion
import TestSupport
import Testing

@testable import Media

/// Sources whose container contradicts their packets: what a refusal says, and how the packets are taken as they are.
@Suite struct TrustedPacketsTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private func outcome(_ path: String, _ damage: DamageMode) throws -> Converter.Outcome {
        let source = try OpenFile.reading(path)
        let output = try OpenFile.creating(folder.path("out.wav"))
        let format = AudioFormat(container: .wav)
        return try Converter(.init(format: format, damage: damage, nameHint: path))
            .run(from: source.descriptor, to: output.descriptor)
    }

    private func error(_ path: String, _ damage: DamageMode = .strict) throws -> MediaError {
        try #require(throws: MediaError.self) { try outcome(path, damage) }
    }

    // MARK: Times that contradict the packets

    /// 200,000 frames whose table lets time pass in the middle, as for `packets` packets of ALAC, and their sound. The stated
    /// length counts that time if `isCounted`.
    private func withGap(
        of packets: Int,
        _ codec: [String] = ["alac"],
        isCounted: Bool = true
    ) throws -> (path: String, pcm: PCM) {
        let sound = Signal.noise(seed: 61, rate: 44_100, frames: 200_000, channels: 2, amplitude: 0.2).pcm(.s16)
        let path = folder.path("gap.m4a")
        try FFmpeg.encode(sound, to: path, ["-c:a"] + codec)
        var bytes = try Bytes.read(path)
        if let edits = Bytes.find("edts", in: bytes) {
            bytes.replaceSubrange(edits..<(edits + 4), with: Array("free".utf8))
        }
        let tables = try MP4Tables(bytes)
        var durations = tables.durations
        durations[durations.count / 2] += packets * 4_096
        bytes = try tables.written(durations: durations)
        let length = try #require(Bytes.find("mdhd", in: bytes)) + 20
        let ticks = Int64(durations.reduce(0, +)) - (isCounted ? 0 : Int64(packets * 4_096))
        bytes.replaceSubrange(length..<(length + 4), with: bigEndianBytes(ticks, count: 4))
        try Bytes.write(bytes, to: path)
        return (path, sound)
    }

    /// The packets follow one another, and only the table says that nine seconds are missing.
    @Test func timesThatTheContainerInventsNeedNoSilence() throws {
        let (path, sound) = try withGap(of: 97)
        let strict = try error(path)
        #expect(strict.code == .timelineGap && strict.contradiction?.known == .clock)
        #expect(strict.contradiction?.promised?.hasPrefix("frame ") == true)
        #expect(strict.contradiction?.found.hasPrefix("frame ") == true)
        let concealed = try error(path, .conceal)
        #expect(concealed.code == .concealRefused && concealed.contradiction == strict.contradiction)
        #expect(concealed.detail.contains(" % of the result"))

        let trusted = try outcome(path, .trustPackets)
        #expect(trusted.summary.writtenFrames == 200_000)
        let isSame = try WAVFile.read(path: folder.path("out.wav")) == sound
        #expect(isSame)
        #expect(trusted.damage.frames == 0 && trusted.damage.stretches.first?.code == .timelineGap)
        #expect(trusted.remarks.contains { $0.kind == .containerIgnored })
    }

    /// Behind the gap, the padding begins where the container says, less the gap. Without an edit list, the priming is sound.
    @Test func thePaddingBehindAGapIsNoSound() throws {
        let (path, _) = try withGap(of: 97, ["aac"])
        #expect(try outcome(path, .trustPackets).summary.writtenFrames == 201_024)
    }

    /// Regression: where the stated length does not count the gap, as much sound as that was taken for padding.
    @Test(arguments: [1, 5, 97]) func aGapThatTheLengthDoesNotCountTakesNoSound(packets: Int) throws {
        let (path, sound) = try withGap(of: packets, isCounted: false)
        let trusted = try outcome(path, .trustPackets)
        #expect(trusted.summary.writtenFrames == 200_000 && trusted.damage.frames == 0)
        let isSame = try WAVFile.read(path: folder.path("out.wav")) == sound
        #expect(isSame)
        let (lossy, _) = try withGap(of: packets, ["aac"], isCounted: false)
        #expect(try outcome(lossy, .trustPackets).summary.writtenFrames == 201_024)
    }

    /// Regression: frames that a packet has and its container does not were neither told nor missed.
    @Test func aPacketWithOtherFramesThanStatedIsTold() throws {
        let (path, sound) = try withGap(of: 5)
        #expect(try error(path).contradiction?.known == .packetFrames)
        let trusted = try outcome(path, .trustPackets)
        let remark = try #require(trusted.remarks.first { $0.kind == .containerIgnored })
        #expect(remark.detail.contains("24,576 frames in this packet; found: 4,096 frames"))
        let isSame = try WAVFile.read(path: folder.path("out.wav")) == sound
        #expect(isSame)
    }

    /// Regression: what the stated length has beyond the packets was taken for a second gap, and the last part of the sound
    /// for none.
    @Test func theLastFramesAreARangeOfTheSource() throws {
        let (path, sound) = try withGap(of: 97)
        let start = MediaTime(frames: 190_000, rate: 44_100)
        let range = try MediaTimeRange(start: start, end: .positiveInfinity)
        let options = Reader.Options(nameHint: path, damage: .trustPackets)
        let isSame = try ReadBack.file(path, [range], options: options).pcm.bytes == sound.cut(190_000..<200_000).bytes
        #expect(isSame)
    }

    /// Regression: the remark was made at the end of the source, which a range may not reach.
    @Test func whatIsIgnoredInARangeIsTold() throws {
        let (path, sound) = try withGap(of: 97)
        let source = try OpenFile.reading(path)
        let output = try OpenFile.creating(folder.path("out.wav"))
        let end = MediaTime(frames: 150_000, rate: 44_100)
        let range = try MediaTimeRange(start: MediaTime(frames: 50_000, rate: 44_100), end: end)
        var request = Converter.Request(format: AudioFormat(container: .wav), damage: .trustPackets, nameHint: path)
        request.ranges = [range]
        let outcome = try Converter(request).run(from: source.descriptor, to: output.descriptor)
        #expect(outcome.remarks.map(\.kind) == [.containerIgnored] && outcome.damage.stretchCount == 1)
        let isSame = try WAVFile.read(path: folder.path("out.wav")) == sound.cut(50_000..<150_000)
        #expect(isSame)
    }

    /// A packet is less than 5 % of the sound.
    @Test func aShortGapIsFilledAsBefore() throws {
        let (path, _) = try withGap(of: 2)
        let concealed = try outcome(path, .conceal)
        #expect(concealed.damage.frames == 2 * 4_096 && concealed.summary.writtenFrames == 200_000 + 2 * 4_096)
    }

    /// Regression: of a pipe, only the end of the source was looked at, and a range that ends before it had any silence.
    @Test(arguments: [false, true]) func aRangeIsNotMadeOfSilence(fromPipe: Bool) throws {
        let sound = Signal.sweep(rate: 44_100, frames: 882_000, amplitude: 0.2).pcm(.s16)
        let path = folder.path("gap.mka")
        // Nine seconds after two.
        try FFmpeg.encode(sound, to: path, ["-c:a", "flac", "-bsf:a", "setts=pts='if(gt(N,20),PTS+9000,PTS)'"])
        let options = Reader.Options(nameHint: path, damage: .conceal)
        let range = try MediaTimeRange(start: .zero, end: MediaTime(frames: 15, rate: 1))
        let error = #expect(throws: MediaError.self) {
            guard fromPipe else { return _ = try ReadBack.file(path, [range], options: options) }
            let pipe = try FilledPipe.holding(Bytes.read(path))
            _ = try ReadBack(descriptor: pipe.reading, [range], options: options)
        }
        #expect(error?.code == .concealRefused && error?.contradiction?.known == .clock)
        // It names the gap, and not the place at which it was judged.
        #expect(error?.frame.map { $0 < 132_300 } == true)
    }

    // MARK: Lengths that contradict the packets

    /// FLAC whose header promises `frames`, and the sound of all its packets.
    private func flac(promising frames: Int64) throws -> (bytes: [UInt8], clean: Readout) {
        let sample = try SampleFile.of(.flac)
        var bytes = sample.bytes
        bytes.replaceSubrange(22..<26, with: bigEndianBytes(frames, count: 4))
        return (bytes, sample.clean)
    }

    @Test func aLengthThatNoPacketSupportsIsNoSilence() throws {
        let (bytes, clean) = try flac(promising: 110_250)
        let strict = try #require(try Readout(bytes, name: "a.flac").error)
        #expect(strict.code == .truncated)
        #expect(
            strict.contradiction
                == Contradiction(.statedLength, promised: "110,250 frames (0:02.5)", found: "55,125 frames (0:01.25)")
        )
        #expect(try Readout(bytes, .conceal, name: "a.flac").error?.code == .concealRefused)
        let trusted = try Readout(bytes, .trustPackets, name: "a.flac")
        let isSame = trusted.samples == clean.samples
        #expect(isSame && trusted.error == nil)
        #expect(trusted.account.frames == 0 && trusted.account.stretches.map(\.code) == [.truncated])
    }

    /// The header is known to be right, because the caller says so.
    @Test func aLimitOfTheCallerPermitsTheSilence() throws {
        let (bytes, clean) = try flac(promising: 110_250)
        try Bytes.write(bytes, to: folder.path("a.flac"))
        let read = try Decoded.file(folder.path("a.flac"), damage: .conceal, concealSeconds: 2)
        #expect(read.frames == 110_250 && read.damage.frames == Int64(110_250 - clean.frames))
    }

    /// A file that ends in the middle of a frame was cut: its sound is missing, whatever the header says.
    @Test func aCutFileIsFilledUp() throws {
        let sample = try SampleFile.of(.flac)
        let middle = try sample.packets()[10]
        let cut = Damage.cut(sample.bytes, to: middle.lowerBound + middle.count / 2)
        let read = try Readout(cut, .conceal, name: "a.flac")
        #expect(read.error == nil && read.frames == sample.clean.frames)
    }

    /// All the sound is taken, and not only the half that the header counts.
    @Test func soundThatTheHeaderDoesNotCountIsTaken() throws {
        let sound = Signal.sweep(rate: 48_000, frames: 144_000).pcm(.s16)
        try WAVFile.write(sound, to: folder.path("half.wav"), options: .init(claimedDataSize: 144_000))
        let strict = try error(folder.path("half.wav"))
        #expect(strict.contradiction?.known == .countedBytes)
        #expect(strict.contradiction?.promised == "0:01.5 of sound by the header")
        let trusted = try outcome(folder.path("half.wav"), .trustPackets)
        #expect(trusted.remarks.map(\.kind).contains(.headerLengthIgnored))
        let isSame = try WAVFile.read(path: folder.path("out.wav")) == sound
        #expect(isSame)
    }

    /// Three seconds of ALAC whose header states 50,000 frames, and their sound.
    private func withPacketsBehindItsLength() throws -> (path: String, pcm: PCM) {
        let sound = Signal.noise(seed: 62, rate: 44_100, frames: 132_300, amplitude: 0.2).pcm(.s16)
        let path = folder.path("short.m4a")
        try FFmpeg.encode(sound, to: path, ["-c:a", "alac"])
        var bytes = try Bytes.read(path)
        let length = try #require(Bytes.find("mdhd", in: bytes)) + 20
        bytes.replaceSubrange(length..<(length + 4), with: bigEndianBytes(50_000, count: 4))
        try Bytes.write(bytes, to: path)
        return (path, sound)
    }

    /// Regression: the packets behind the stated length were taken without a word.
    @Test func packetsBehindTheStatedLengthAreTold() throws {
        let (path, sound) = try withPacketsBehindItsLength()
        let trusted = try outcome(path, .trustPackets)
        let isSame = try WAVFile.read(path: folder.path("out.wav")) == sound
        #expect(isSame && trusted.damage.frames == 0)
        #expect(trusted.damage.stretches.map(\.code) == [.uncountedSound])
        let remark = try #require(trusted.remarks.first { $0.kind == .containerIgnored })
        #expect(remark.detail.contains("82300 frames follow in its packets"))
    }

    /// Regression: the stated length refused ranges of sound that the packets have.
    @Test func aRangeBehindTheStatedLengthIsRead() throws {
        let (path, sound) = try withPacketsBehindItsLength()
        let options = Reader.Options(nameHint: path, damage: .trustPackets)
        let start = MediaTime(frames: 100_000, rate: 44_100)
        let range = try MediaTimeRange(start: start, end: .positiveInfinity)
        let isSame = try ReadBack.file(path, [range], options: options).pcm.bytes == sound.cut(100_000..<132_300).bytes
        #expect(isSame)
        let beyond = try MediaTimeRange(start: MediaTime(frames: 4, rate: 1), end: .positiveInfinity)
        #expect(Converted.code { _ = try ReadBack.file(path, [beyond], options: options) } == .rangeOutsideSource)
    }

    /// Regression: a copy planned the frames that the header states, and so counted too many.
    @Test func packetsBehindTheStatedLengthAreCopied() throws {
        let (path, sound) = try withPacketsBehindItsLength()
        let source = try OpenFile.reading(path)
        let output = try OpenFile.creating(folder.path("out.mka"))
        let copy = AudioFormat(container: .mka, codec: .copy)
        let trusted = try Converter(.init(format: copy, damage: .trustPackets, nameHint: path))
            .run(from: source.descriptor, to: output.descriptor)
        #expect(trusted.summary.writtenFrames == 132_300)
        #expect(trusted.remarks.contains { $0.kind == .containerIgnored })
        let isSame = try Decoded.file(folder.path("out.mka")).pcm.bytes == sound.bytes
        #expect(isSame)
    }

    /// A packet of a transport stream that carries the mark of an error, and nothing of which is missing.
    @Test func aMarkThatIsIgnoredIsTold() throws {
        let sound = Signal.sweep(rate: 44_100, frames: 132_300).pcm(.s16)
        let path = folder.path("marked.ts")
        try FFmpeg.encode(sound, to: path, ["-c:a", "mp2"])
        var bytes = try Bytes.read(path)
        let packets = stride(from: 0, to: bytes.count, by: 188)
        let ofSound = packets.filter { bytes[$0 + 1] & 0x1F == 1 && bytes[$0 + 2] == 0 }
        bytes[ofSound[ofSound.count / 2] + 1] |= 0x80
        try Bytes.write(bytes, to: path)
        #expect(try error(path).contradiction?.known == .packetMark)
        let trusted = try outcome(path, .trustPackets)
        #expect(trusted.damage.frames == 0 && trusted.damage.stretches.map(\.code) == [.corruptStream])
        #expect(trusted.remarks.contains { $0.kind == .containerIgnored })
    }

    @Test func aDigestThatDiffersIsTold() throws {
        var bytes = try SampleFile.of(.flac).bytes
        bytes[28] ^= 1
        let strict = try Readout(bytes, name: "a.flac", checksDigest: true)
        #expect(strict.error?.contradiction?.known == .digest)
        let trusted = try Readout(bytes, .trustPackets, name: "a.flac", checksDigest: true)
        #expect(trusted.error == nil && trusted.account.stretchCount == 1 && trusted.account.frames == 0)
    }

    /// Copied packets are trusted in the same way.
    @Test func packetsAreCopiedAsTheyAre() throws {
        let (path, _) = try withGap(of: 97, ["aac", "-aac_pns", "0"])
        let copy = AudioFormat(container: .mka, codec: .copy)
        func copied(_ damage: DamageMode) throws -> Converter.Outcome {
            let source = try OpenFile.reading(path)
            let output = try OpenFile.creating(folder.path("out.mka"))
            return try Converter(.init(format: copy, damage: damage, nameHint: path))
                .run(from: source.descriptor, to: output.descriptor)
        }
        let strict = try #require(throws: MediaError.self) { try copied(.strict) }
        #expect(strict.code.isDamage && strict.contradiction?.known?.isOfContainer == true)
        #expect(Converted.code { _ = try copied(.conceal) } == strict.code)
        let trusted = try copied(.trustPackets)
        #expect(trusted.remarks.contains { $0.kind == .containerIgnored })
        let isSame = try Decoded.file(folder.path("out.mka")).pcm == Decoded.file(path, damage: .trustPackets).pcm
        #expect(isSame)
    }

    // MARK: Packets that do not decode

    /// They are left out and counted, as with `skip`.
    @Test func whatDoesNotDecodeIsLeftOutAndCounted() throws {
        let sample = try SampleFile.of(.flac)
        let packet = try sample.packets()[10]
        let holed = Damage.hole(sample.bytes, at: packet.lowerBound + 5, count: packet.count - 10)
        let trusted = try Readout(holed, .trustPackets, name: "a.flac")
        let skipped = try Readout(holed, .skip, name: "a.flac")
        let isSame = trusted.samples == skipped.samples
        #expect(isSame && trusted.account == skipped.account && trusted.account.frames > 0)
        #expect(try Readout(holed, name: "a.flac").error?.contradiction?.known == .decoding)
    }

    /// Undamaged sources give what they give in all modes: priming and padding are left out.
    @Test(arguments: SampleFile.Kind.allCases) func nothingChangesWithoutDamage(kind: SampleFile.Kind) throws {
        let sample = try SampleFile.of(kind)
        let trusted = try Readout(sample.bytes, .trustPackets, name: kind.fileName)
        let isSame = trusted.samples == sample.clean.samples
        #expect(isSame && trusted.account.isEmpty && trusted.error == nil)
    }
}
