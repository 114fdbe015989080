import Conversion
import TestSupport
import Testing

@testable import Media

/// AAC files whose packets are copied into one track: the sound of each file, to the frame, and nothing between.
@Suite struct JoinedPacketsTests {
    private let folder: TemporaryFolder
    private static let rate = 44_100

    init() throws { folder = try TemporaryFolder.create() }

    /// Writes AAC without substituted noise (PNS), which differs behind a join.
    @discardableResult
    private func write(
        _ name: String,
        _ frames: Int,
        rate: Int = rate,
        channels: Int = 2,
        _ words: [String] = []
    ) throws -> String {
        let seed = UInt64(frames)
        let sound = Signal.noise(seed: seed, rate: rate, frames: frames, channels: channels, amplitude: 0.2).pcm(.s16)
        let path = folder.path(name)
        try FFmpeg.encode(sound, to: path, ["-c:a", "aac", "-aac_pns", "0"] + words)
        return path
    }

    private func timeline(_ names: String...) -> Timeline {
        Timeline(tracks: [.init(pieces: names.map { Piece(.source($0)) })])
    }

    private func join(
        _ sources: Sources,
        _ timeline: Timeline,
        to name: String = "out.m4a"
    ) throws -> (outcome: Converter.Outcome, path: String) {
        try sources.convert(timeline, to: name) { request in
            request.format = AudioFormat(container: .m4a, codec: .copy)
            request.verifies = true
        }
    }

    /// The sizes and digests of all packets, whatever the edit list plays.
    private func packets(_ path: String) throws -> [String] {
        let words = ["-ignore_editlist", "1", "-i", path, "-map", "0:a:0", "-c", "copy", "-f", "framehash", "-"]
        let text = String(decoding: try FFmpeg.run(words).stdout, as: UTF8.self)
        return text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
            line.split(separator: ",").suffix(2).map { $0.filter { $0 != " " } }.joined(separator: " ")
        }
    }

    /// Lengths that end in the middle of a packet and at the end of one, and less than a packet.
    @Test func theSoundIsThatOfTheFiles() throws {
        let paths = [
            try write("1.m4a", 30_011), try write("2.m4a", 51_200), try write("3.m4a", 700), try write("4.m4a", 20_481),
        ]
        let sources = try Sources(files: ["a": paths[0], "b": paths[1], "c": paths[2], "d": paths[3]])
        let (outcome, path) = try join(sources, timeline("a", "b", "c", "d"))
        let parts = try paths.map { try Decoded.file($0) }
        #expect(parts.map(\.frames) == [30_011, 51_200, 700, 20_481])
        let read = try Decoded.file(path)
        #expect(read.track.length == .exact(102_392))
        let isSame = try read.pcm == PCM.joined(parts.map(\.pcm))
        #expect(isSame)
        #expect(outcome.summary.plannedFrames == 102_392 && outcome.summary.writtenFrames == 102_392)
        #expect(outcome.verified?.frames == 102_392)
        #expect(outcome.format.codec == .copy)
        // Packets are not encoded again.
        let all = try paths.flatMap { try packets($0) }
        #expect(try packets(path) == all)
        let remark = try #require(outcome.remarks.first)
        #expect(outcome.remarks.count == 1 && remark.kind == .packetsJoined && remark.count == 4)
        #expect(!remark.kind.isLoss)
    }

    /// libav plays whole packets at joins. Of these files it does so at the ends of each, too: their clocks of milliseconds end
    /// in the same packets.
    @Test func anotherReaderPlaysEachFileAsByItself() throws {
        let paths = [try write("1.m4a", 30_011), try write("2.m4a", 51_200), try write("3.m4a", 20_300)]
        let sources = try Sources(files: ["a": paths[0], "b": paths[1], "c": paths[2]])
        let path = try join(sources, timeline("a", "b", "c")).path
        let expected = try PCM.joined(paths.map { try FFmpeg.decode($0, to: .f32) })
        let isSame = try FFmpeg.decode(path, to: .f32) == expected
        #expect(isSame)
    }

    /// Apple's encoder primes with 2112 frames. A file may be heard twice.
    @Test func primingMayEndInTheMiddleOfAPacket() throws {
        let (one, two) = (try write("1.m4a", 30_000), try write("2.m4a", 40_000))
        try MP4Bytes.setEdit(one, movieTimescale: UInt32(Self.rate), start: 2_112, length: 20_000)
        try MP4Bytes.setEdit(two, movieTimescale: UInt32(Self.rate), start: 2_112, length: 31_007)
        let sources = try Sources(files: ["a": one, "b": two])
        let (outcome, path) = try join(sources, timeline("a", "b", "a"))
        let remark = try #require(outcome.remarks.first { $0.kind == .packetsJoined })
        #expect(remark.detail.hasSuffix("leave out up to 960 frames"), "\(remark.detail)")
        // Reports keep 200 bytes; twenty stay for the numbers of longer books.
        #expect(remark.detail.utf8.count <= 180, "\(remark.detail)")
        let parts = try [one, two, one].map { try Decoded.file($0).pcm }
        #expect(parts.map(\.frames) == [20_000, 31_007, 20_000])
        let isSame = try Decoded.file(path).pcm == PCM.joined(parts)
        #expect(isSame)
    }

    /// The only source of a timeline, too.
    @Test func oneFileMayBeHeardTwice() throws {
        let one = try write("1.m4a", 30_011)
        let sources = try Sources(files: ["a": one])
        let (outcome, path) = try join(sources, timeline("a", "a"))
        let part = try Decoded.file(one).pcm
        let isSame = try Decoded.file(path).pcm == PCM.joined([part, part])
        #expect(isSame)
        #expect(outcome.remarks.first { $0.kind == .packetsJoined }?.count == 2)
    }

    /// Any part of the sound is read as exactly as from the files.
    @Test func aRangeAcrossAJoinIsExact() throws {
        let paths = [try write("1.m4a", 60_000), try write("2.m4a", 70_000)]
        let sources = try Sources(files: ["a": paths[0], "b": paths[1]])
        let path = try join(sources, timeline("a", "b")).path
        let whole = try PCM.joined(paths.map { try Decoded.file($0).pcm })
        let file = try OpenFile.reading(path)
        let range = try MediaTimeRange(
            start: MediaTime(frames: 59_990, rate: Self.rate),
            end: MediaTime(frames: 60_020, rate: Self.rate)
        )
        let reader = try Reader(descriptor: file.descriptor)
        let output = try reader.samples(of: reader.track(), ranges: [range])
        var block = try SampleBlock()
        var bytes: [UInt8] = []
        while try output.next(into: &block) { block.appendInterleaved(to: &bytes) }
        let expected = try whole.cut(59_990..<60_020).bytes
        #expect(bytes == expected)
    }

    @Test func chaptersAreThoseOfTheFiles() throws {
        let sources = try Sources(files: ["a": try write("1.m4a", 44_100), "b": try write("2.m4a", 22_050)])
        let path = try sources.convert(timeline("a", "b"), to: "out.m4a") { request in
            request.format = AudioFormat(container: .m4a, codec: .copy)
            request.marksSources = true
        }.path
        #expect(try FFmpeg.probe(path).chapters.map(\.start) == [0, 1])
        #expect(try Decoded.file(path).description.chapters.map(\.title) == ["a", "b"])
    }

    // MARK: Refusals

    private func refusal(_ one: String, _ two: String) throws -> String? {
        let sources = try Sources(files: ["a": one, "b": two])
        do {
            _ = try join(sources, timeline("a", "b"))
            return nil
        } catch let error as MediaError where error.code == .passthroughRefused {
            return error.detail
        }
    }

    @Test func filesOfAnotherKindAreNamed() throws {
        let one = try write("1.m4a", 20_000)
        let front = "the packets of b cannot be joined to others: "
        let differs = front + "it has another rate, other channels or other settings than the first file"
        #expect(try refusal(one, write("rate.m4a", 20_000, rate: 48_000)) == differs)
        #expect(try refusal(one, write("mono.m4a", 20_000, channels: 1)) == differs)
        #expect(try refusal(one, write("main.m4a", 20_000, ["-profile:a", "aac_main"])) == front + "it is not AAC-LC")
        let lossless = folder.path("lossless.m4a")
        try FFmpeg.encode(one, to: lossless, ["-c:a", "alac"])
        #expect(try refusal(one, lossless) == front + "only packets of AAC are joined")
        #expect(try refusal(one, write("b.aac", 20_000)) == front + "it is not MP4, M4A or M4B")
    }

    /// Without priming, the first packet behind a join would be mixed with the last one before it.
    @Test func aFileWithoutPrimingCanOnlyBeTheFirst() throws {
        let one = try write("1.m4a", 20_000)
        let bare = folder.path("bare.m4a")
        try FFmpeg.encode(write("bare.aac", 20_000), to: bare, ["-c:a", "copy"])
        #expect(try refusal(bare, one) == nil)
        let text = try #require(try refusal(one, bare))
        #expect(text.hasSuffix("it does not begin with a packet of priming, so the join would be heard"))
    }

    /// The packets of a file need not be as its container states. While they are copied, it is too late to encode the sound.
    @Test func theFirstPacketsAreReadBeforeAnyIsCopied() throws {
        let bare = folder.path("bare.m4a")
        try FFmpeg.encode(write("bare.aac", 20_000), to: bare, ["-c:a", "copy"])
        let one = try OpenFile.reading(write("1.m4a", 20_000))
        let two = try OpenFile.reading(write("2.m4a", 20_000))
        let unprimed = try OpenFile.reading(bare)
        /// A source with the statements of `stated` and the packets of `played`.
        func source(_ name: String, _ stated: Int32, playing played: Int32) throws -> SoundSources.Source {
            let reader = try Reader(descriptor: stated)
            return SoundSources.Source(
                name: name,
                descriptor: played,
                options: Reader.Options(),
                reader: reader,
                track: try reader.track(),
                frames: 20_000
            )
        }
        let first = try source("a", one.descriptor, playing: one.descriptor)
        let second = try source("b", two.descriptor, playing: two.descriptor)
        #expect(try JoinedPackets([first, second]).plannedFrames == 40_000)
        let mismatched = try source("b", two.descriptor, playing: unprimed.descriptor)
        let error = try #require(throws: MediaError.self) { _ = try JoinedPackets([first, mismatched]) }
        #expect(error.code == .passthroughRefused)
        #expect(error.detail.hasSuffix("it does not begin with a packet of priming, so the join would be heard"))
    }

    @Test func whatIsNoJoinIsRefused() throws {
        let paths = [try write("1.m4a", 20_000), try write("2.m4a", 20_000)]
        let sources = try Sources(files: ["a": paths[0], "b": paths[1]])
        var gap = timeline("a", "b")
        gap.tracks[0].pieces.insert(Piece(.silence(MediaTime(value: 1, timescale: 1))), at: 1)
        #expect(Converted.code { _ = try join(sources, gap) } == .passthroughRefused)
        let plain = timeline("a", "b")
        for container in [Container.mka, .adts] {
            let code = Converted.code {
                _ = try sources.convert(plain, to: "out.\(container.fileExtensions[0])") { request in
                    request.format = AudioFormat(container: container, codec: .copy)
                }
            }
            #expect(code == .passthroughRefused, "\(container)")
        }
    }

    /// Readers take no longer edit list, Sluice among them.
    @Test func tooManyPartsAreRefused() throws {
        let path = try write("1.m4a", 2_000)
        let sources = try Sources(files: ["a": path])
        let pieces = [Piece](repeating: Piece(.source("a")), count: JoinedPackets.most + 1)
        let error = #expect(throws: MediaError.self) {
            _ = try join(sources, Timeline(tracks: [.init(pieces: pieces)]))
        }
        #expect(error?.code == .passthroughRefused)
        #expect(error?.detail == "50001 pieces are too many for one edit list")
    }

    // MARK: Encoding otherwise

    private func choose(
        _ one: String,
        _ two: String,
        rate: Int? = nil,
        damage: DamageMode = .strict
    ) throws -> (outcome: Converter.Outcome, path: String) {
        let sources = try Sources(files: ["a": one, "b": two])
        let made = try sources.convert(timeline("a", "b"), to: "out.m4a") { request in
            request.format = AudioFormat(container: .m4a, codec: .aac, sampleRateHz: rate)
            request.damage = damage
            (request.copiesPackets, request.verifies) = (true, true)
        }
        // The folder of the sources ends with them.
        let kept = folder.path("chosen.m4a")
        try withExtendedLifetime(sources) { try Bytes.write(Bytes.read(made.path), to: kept) }
        return (made.outcome, kept)
    }

    @Test func theReportSaysWhichWayWasTaken() throws {
        let (one, two) = (try write("1.m4a", 30_000), try write("2.m4a", 20_000))
        let copied = try choose(one, two)
        #expect(copied.outcome.remarks.map(\.kind) == [.packetsJoined] && copied.outcome.format.codec == .copy)
        let all = try packets(one) + packets(two)
        #expect(try packets(copied.path) == all)

        let mono = try write("mono.m4a", 20_000, channels: 1)
        let encoded = try choose(one, mono).outcome
        #expect(encoded.format.codec == .aac && encoded.summary.writtenFrames == 50_000)
        let remark = try #require(encoded.remarks.first { $0.kind == .packetsEncoded })
        #expect(remark.detail.hasPrefix("the sound was encoded: the packets of b cannot be joined to others: it has"))

        let other = try choose(one, two, rate: 48_000).outcome
        #expect(other.format.codec == .aac && other.format.sampleRateHz == 48_000)
        let told = "the sound was encoded: the recipe asks for another rate or other channels than the sources have"
        #expect(other.remarks.first { $0.kind == .packetsEncoded }?.detail == told)

        // Copied packets would keep their damage.
        let concealed = try choose(one, two, damage: .conceal).outcome
        #expect(concealed.format.codec == .aac)
        let why = "the sound was encoded: what is done about damage needs decoded sound"
        #expect(concealed.remarks.first { $0.kind == .packetsEncoded }?.detail == why)
    }

    // MARK: Verifying

    @Test func verifyingFindsAnotherPacketAndAnotherEdit() throws {
        let paths = [try write("1.m4a", 20_000), try write("2.m4a", 20_000)]
        let sources = try Sources(files: ["a": paths[0], "b": paths[1]])
        let (outcome, path) = try join(sources, timeline("a", "b"))
        func code() throws -> FailureCode? {
            let file = try OpenFile.reading(path)
            return Converted.code {
                try Verifier.compareJoined(
                    descriptor: file.descriptor,
                    format: outcome.format,
                    against: outcome.summary,
                    stop: StopSignal()
                )
            }
        }
        #expect(try code() == nil)
        let bytes = try Bytes.read(path)
        let box: Int = try #require(Bytes.find("mdat", in: bytes))
        let sound = box + 9_012
        try Bytes.overwrite(path, at: sound, with: [bytes[sound] ^ 0xFF])
        #expect(try code() == .verifyMismatch)
        try Bytes.overwrite(path, at: sound, with: [bytes[sound]])
        #expect(try code() == nil)
        // The last byte of where the second edit begins.
        let list: Int = try #require(Bytes.find("elst", in: bytes))
        let start = list + 31
        try Bytes.overwrite(path, at: start, with: [bytes[start] ^ 1])
        #expect(try code() == .verifyMismatch)
    }

    // MARK: Parts

    @Test func aMarkThatThereIsNoSBRChangesNothing() throws {
        let plain = try #require(AACConfiguration([0x12, 0x10]))
        #expect(plain.isLC && plain == AACConfiguration([0x12, 0x10, 0x56, 0xE5, 0x00]))
        #expect(plain != AACConfiguration([0x12, 0x10, 0x56, 0xE5, 0x80]))
        #expect(plain != AACConfiguration([0x11, 0x90]))
        // Channels that are described, and a rate that the table lacks.
        #expect(AACConfiguration([0x12, 0x00, 0x05])?.decisive == [0x12, 0x00, 0x05])
        #expect(AACConfiguration([0x17, 0x80, 0x56])?.decisive == [0x17, 0x80, 0x56])
        #expect(AACConfiguration([0x2B, 0x92, 0x08, 0x00])?.isLC == false)
        #expect(AACConfiguration([0x12]) == nil)
    }

    /// Thirteen hours at 44.1 kHz do not fit 31 bits of frames.
    @Test func placesInLongTracksHave64Bits() throws {
        let scale = bigEndianBytes(44_100, count: 4)
        let header = BoxTree(name: "mvhd", content: .bytes(bytes(12) + scale + bytes(84)))
        let track = BoxTree(name: "tkhd", content: .bytes(bytes(84)))
        var movie = BoxTree(
            name: "moov",
            content: .boxes([header, BoxTree(name: "trak", content: .boxes([track]))])
        )
        let far = Int64(Int32.max) + 5
        #expect(PlayedParts(parts: [1_024..<2_024, far..<(far + 10)]).apply(to: &movie, timescale: 44_100))
        var written: [UInt8] = []
        try movie.write { written += $0 }
        let name: Int = try #require(Bytes.find("elst", in: written))
        let list = name + 4
        let entry = bigEndianBytes(10, count: 8) + bigEndianBytes(far, count: 8) + bigEndianBytes(0x10000, count: 4)
        #expect(Array(written[list..<(list + 8)]) == [1, 0, 0, 0, 0, 0, 0, 2])
        #expect(Array(written[(list + 28)...].prefix(20)) == entry)
        let head: Int = try #require(Bytes.find("mvhd", in: written))
        let length = head + 20
        #expect(Array(written[length..<(length + 4)]) == bigEndianBytes(1_010, count: 4))
        #expect(!PlayedParts(parts: [0..<1]).apply(to: &movie, timescale: 48_000))
    }

    private func bytes(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
}
