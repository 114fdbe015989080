import Conversion
import TestSupport
import Testing

@testable import Media

/// A file of the MP4 family, and whether Sluice walks its tables.
struct WalkCase: Sendable, CustomTestStringConvertible {
    let name: String
    let arguments: [String]
    let rate: Int
    let channels: Int
    /// Long enough for some hundred packets.
    let seconds: Int
    let isWalked: Bool

    init(
        _ name: String,
        _ arguments: String = "",
        rate: Int = 44_100,
        channels: Int = 2,
        seconds: Int = 4,
        isWalked: Bool = true
    ) {
        self.name = name
        self.arguments = arguments.split(separator: " ").map(String.init)
        (self.rate, self.channels, self.seconds, self.isWalked) = (rate, channels, seconds, isWalked)
    }

    var testDescription: String { "\(name) \(arguments.joined(separator: " ")) \(rate) Hz" }

    static let all: [WalkCase] = [
        WalkCase("a.m4a", "-aac_pns 0"), WalkCase("front.m4a", "-aac_pns 0 -movflags +faststart"),
        WalkCase("coarse.m4a", "-aac_pns 0 -movie_timescale 600"), WalkCase("bare.m4a", "-aac_pns 0 -use_editlist 0"),
        WalkCase("mono.m4a", "-aac_pns 0", rate: 16_000, channels: 1, seconds: 12),
        WalkCase("six.m4a", "-aac_pns 0", rate: 48_000, channels: 6),
        WalkCase("alac.m4a", "-c:a alac", seconds: 20), WalkCase("s24.m4a", "-c:a alac -sample_fmt s32p", seconds: 20),
        WalkCase("f.mp4", "-c:a flac -frame_size 1024 -strict -2"), WalkCase("o.mp4", "-c:a libopus", rate: 48_000),
        WalkCase("a.mov", "-c:a aac -aac_pns 0"), WalkCase("alac.mov", "-c:a alac", seconds: 20),
        WalkCase("a.3gp", "-c:a aac -aac_pns 0"),
        // Formats for which libav makes packets by its own rules.
        WalkCase("p.mov", "-c:a pcm_s16le", isWalked: false), WalkCase("mp3.mp4", "-c:a libmp3lame", isWalked: false),
        WalkCase("ac3.mp4", "-c:a ac3", rate: 48_000, isWalked: false),
        WalkCase("ima.mov", "-c:a adpcm_ima_qt", isWalked: false),
        WalkCase("frag.mp4", "-c:a aac -movflags frag_keyframe+empty_moov -frag_duration 300000", isWalked: false),
    ]
    static let walked = all.filter(\.isWalked)
}

/// Walking the tables of an MP4 gives the same result as libav with the full tables.
@Suite struct SampleWalkTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private func clip(_ test: WalkCase) throws -> String {
        let frames = test.seconds * test.rate + 321
        let sweep = Signal.sweep(to: Double(test.rate) * 0.3, rate: test.rate, frames: frames, channels: test.channels)
        try FFmpeg.encode(sweep.pcm(.s16), to: folder.path(test.name), test.arguments)
        return folder.path(test.name)
    }

    /// Rules that give one stand-in for all hidden samples, or many.
    static let rules = [
        WalkedBothWays.rules(), WalkedBothWays.rules(head: 8, tail: 1, longest: 20_000),
        WalkedBothWays.rules(head: 11, tail: 12, longest: 1_000_000),
    ]

    @Test(arguments: WalkCase.all) func packetsAndSamplesAreLibavsOwn(test: WalkCase) throws {
        let path = try clip(test)
        for rules in Self.rules {
            let both = try WalkedBothWays.file(path, rules)
            #expect(both.difference == nil)
            #expect(both.walkedStreams == (test.isWalked ? [0] : []))
            #expect(both.whole.packets.count > 40 && both.whole.ends == ["end", "end"] || !test.isWalked)
        }
    }

    /// Files that Sluice wrote, with sample groups, edits and iTunSMPB.
    @Test(arguments: [(Container.m4a, Codec.aac), (.m4a, .alac), (.mp4, .aac), (.mp4, .opus)])
    func filesOfOurOwnAreWalked(container: Container, codec: Codec) throws {
        let clip = try Clip(Signal.noise(seed: 3, rate: 48_000, frames: 48_000 * 12, channels: 1).scaled(by: 0.3))
        try clip.convert(AudioFormat(container: container, codec: codec))
        let path = clip.folder.path("out.\(container.fileExtensions[0])")
        let both = try WalkedBothWays.file(path, WalkedBothWays.rules(head: 12, tail: 2))
        #expect(both.difference == nil)
        #expect(both.walkedStreams == [0])
        #expect(both.walked.ends == ["end", "end"])
    }

    @Test func filesThatAreTooShortStayWithLibav() throws {
        let path = try clip(WalkCase.all[0])
        let bytes = try Bytes.read(path)
        let count = Int64(try MP4Tables(bytes).sizes.count)
        var rules = WalkedBothWays.rules()
        for (least, isWalked) in [(count - 1, true), (count, true), (count + 1, false)] {
            rules.leastSamples = least
            #expect(try WalkedBothWays(bytes, rules).walkedStreams.isEmpty == !isWalked, "\(least)")
        }
        rules = WalkedBothWays.rules(head: count - 4, tail: 3)
        #expect(try WalkedBothWays(bytes, rules).walkedStreams.isEmpty)
        rules = WalkedBothWays.rules()
        rules.mostSamples = count - 1
        #expect(try WalkedBothWays(bytes, rules).walkedStreams.isEmpty)
        // The size before a box's name includes eight bytes of header.
        let tableBytes = try ["stsz", "stts", "stsc", "stco"].reduce(Int64(0)) { sum, name in
            sum + Int64(try Bytes.big(UInt32.self, in: bytes, at: try #require(Bytes.find(name, in: bytes)) - 4)) - 8
        }
        for (most, isWalked) in [(tableBytes, true), (tableBytes - 1, false)] {
            rules = WalkedBothWays.rules()
            rules.mostTableBytes = most
            #expect(try WalkedBothWays(bytes, rules).walkedStreams.isEmpty == !isWalked, "\(most)")
        }
        // libav may read five seconds of sound, and would reach a stand-in.
        rules = WalkedBothWays.rules()
        rules.headSeconds = 2
        #expect(try WalkedBothWays(bytes, rules).walkedStreams.isEmpty)
    }

    // MARK: Tables

    /// Expects that a file of one track is walked under each of the rules, with the same result as in libav.
    private func expectAlike(_ bytes: [UInt8], _ location: SourceLocation = #_sourceLocation) throws {
        for rules in Self.rules {
            let both = try WalkedBothWays(bytes, rules)
            #expect(both.difference == nil, sourceLocation: location)
            #expect(both.walkedStreams == [0], sourceLocation: location)
        }
    }

    @Test(arguments: [[1], [48], [10_000], [1, 7, 2], [3, 3, 50]], [false, true])
    func chunksOfAnySizeAreWalked(perChunk: [Int], isWide: Bool) throws {
        let tables = try MP4Tables(Bytes.read(clip(WalkCase.all[0])))
        try expectAlike(tables.written(perChunk: perChunk, isWide: isWide))
    }

    /// Durations as written by recorders that stamp each packet by the wall clock.
    @Test func durationsThatDifferAreWalked() throws {
        let tables = try MP4Tables(Bytes.read(clip(WalkCase("bare.m4a", "-use_editlist 0"))))
        var generator = SeededGenerator(seed: 11)
        for joinsRuns in [true, false] {
            let durations = tables.durations.map { $0 + Int(generator.next() % 3) - 1 }
            try expectAlike(tables.written(durations: durations, joinsRuns: joinsRuns))
        }
    }

    @Test func samplesMayLieInAnyOrder() throws {
        let bytes = try Bytes.read(clip(WalkCase.all[0]))
        let tables = try MP4Tables(bytes)
        // The same bytes for all but the first few samples.
        let places = tables.places.enumerated().map { $0.offset % 5 == 3 ? tables.places[$0.offset - 2] : $0.element }
        let sizes = tables.sizes.enumerated().map { $0.offset % 5 == 3 ? tables.sizes[$0.offset - 2] : $0.element }
        try expectAlike(tables.written(sizes: sizes, places: places))
    }

    @Test func samplesBoxOf64BitsIsWalked() throws {
        var bytes = try Bytes.read(clip(WalkCase.all[0]))
        let (free, mdat) = (try #require(Bytes.find("free", in: bytes)), try #require(Bytes.find("mdat", in: bytes)))
        try #require(mdat == free + 8)
        let size = try Bytes.big(UInt32.self, in: bytes, at: mdat - 4)
        bytes.replaceSubrange(
            (free - 4)..<(mdat + 4),
            with: bigEndianBytes(1, count: 4) + Array("mdat".utf8) + bigEndianBytes(Int64(size) + 8, count: 8)
        )
        let both = try WalkedBothWays(bytes)
        #expect(both.difference == nil)
        #expect(both.walkedStreams == [0])
    }

    // MARK: Edits

    /// Where an edit begins and ends, in frames, and whether both are among the samples that libav sees.
    @Test(
        arguments: [
            (0, 176_000, true), (1_024, 176_401, true), (2_112, 175_000, true), (2_112, 176_721, true),
            (12_000, 165_000, true), (1, 200_000, true), (2_112, 100_000, false), (2_112, 174_000, true),
            (60_000, 116_000, false), (3_000, 10_000, false),
        ]
    ) func editListsAreAsLibavReadsThem(start: Int, length: Int, isWalked: Bool) throws {
        let path = try clip(WalkCase("a.m4a", "-aac_pns 0 -movie_timescale 44100"))
        try MP4Bytes.setEdit(path, movieTimescale: 44_100, start: UInt32(start), length: UInt32(length))
        let both = try WalkedBothWays.file(path)
        #expect(both.difference == nil)
        #expect(both.walkedStreams == (isWalked ? [0] : []))
        try MP4Bytes.addGaplessTag(path, priming: start, padding: 176_721 + 1_024 - start - length, frames: length)
        #expect(try WalkedBothWays.file(path).difference == nil)
    }

    // MARK: Files with more in them

    @Test func bookWithChaptersAndCoverIsDescribedAlike() throws {
        let notes =
            ";FFMETADATA1\ntitle=A Book\nartist=Somebody\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=1250\ntitle=One\n"
            + "[CHAPTER]\nTIMEBASE=1/1000\nSTART=1250\nEND=3625\ntitle=Zwei\n"
        try Bytes.write(Array(notes.utf8), to: folder.path("notes.txt"))
        try FFmpeg.run(["-f", "lavfi", "-i", "testsrc=s=32x24", "-frames:v", "1", folder.path("cover.png")])
        let path = try clip(WalkCase.all[0])
        for flags in ["+faststart", "+disable_chpl"] {
            try FFmpeg.run([
                "-y", "-i", path, "-i", folder.path("cover.png"), "-i", folder.path("notes.txt"), "-map", "0:a",
                "-map", "1:v", "-map_metadata", "2", "-c", "copy", "-disposition:v", "attached_pic", "-movflags",
                flags,
                "-f", "mp4", folder.path("a.m4b"),
            ])
            let both = try WalkedBothWays.file(folder.path("a.m4b"))
            #expect(both.difference == nil)
            #expect(both.walkedStreams == [0])
            #expect(both.walked.description?.chapters.map(\.title) == ["One", "Zwei"])
            #expect(both.walked.description?.cover != nil)
        }
    }

    @Test(arguments: ["-c:v mpeg4 -g 5 -bf 2", "-c:v libx264 -bf 2 -movflags +faststart", "-c:v mjpeg"])
    func soundOfVideoIsWalkedInEachTrack(video: String) throws {
        let path = folder.path("v.mp4")
        try FFmpeg.run(
            [
                "-f", "lavfi", "-i", "testsrc=s=64x48:r=25:d=40", "-f", "lavfi", "-i", "sine=440:r=48000:d=40",
                "-f", "lavfi", "-i", "sine=880:r=48000:d=40", "-map", "0:v", "-map", "1:a", "-map", "2:a", "-ac", "2",
                "-c:a", "aac",
            ] + video.split(separator: " ").map(String.init) + ["-disposition:a:1", "0", path]
        )
        // libav reads five seconds of sound while it waits for pictures that it never gets.
        let rules = WalkedBothWays.rules(head: 300, tail: 20)
        for track in [1, 2] {
            let both = try WalkedBothWays.file(path, rules, track: track)
            #expect(both.difference == nil)
            #expect(both.walkedStreams == [1, 2])
        }
    }

    /// For a long film, libav keeps only the description of the video track.
    @Test func picturesThatAreNotReadHaveNoIndex() throws {
        let path = folder.path("v.mp4")
        try FFmpeg.run([
            "-f", "lavfi", "-i", "testsrc=s=64x48:r=50:d=4", "-f", "lavfi", "-i", "sine=440:r=48000:d=4", "-c:v",
            "mpeg4", "-c:a", "aac", path,
        ])
        let file = try OpenFile.reading(path)
        func entries(_ least: Int64) throws -> [Int] {
            var options = Reader.Options()
            options.sampleTables.leastSamples = least
            return try Reader(descriptor: file.descriptor, options: options).demuxer.streams.map(\.indexEntries)
        }
        #expect(try entries(.max) == [200, 189])
        #expect(try entries(200) == [0, 189])
        #expect(try entries(201) == [200, 189])
    }

    @Test func pipeStaysWithLibav() throws {
        let path = try clip(WalkCase.all[1])
        let pipe = try FilledPipe.holding(Bytes.read(path))
        var options = Reader.Options(nameHint: "a.m4a")
        options.sampleTables = WalkedBothWays.rules()
        let read = try ReadBack(descriptor: pipe.reading, options: options)
        let again = try FilledPipe.holding(Bytes.read(path))
        options.sampleTables = .never
        #expect(try read.pcm == ReadBack(descriptor: again.reading, options: options).pcm)
    }

    // MARK: Ranges

    @Test(arguments: WalkCase.walked) func partIsTheSameCutOfTheWhole(test: WalkCase) throws {
        let path = try clip(test)
        let whole = try ReadBack.file(path)
        let (pcm, length) = (try whole.pcm, try Int64(whole.pcm.frames))
        let half = length / 2
        let sets: [[Range<Int64>]] = [
            [
                0..<1000, 1010..<1020, 5000..<5000, half..<half + 5001, length - 5000..<length - 4999,
                length - 777..<length,
            ],
            [length - 3001..<Int64.max],
            [half..<half + 1000, half + 500..<half + 600, length - 100..<Int64.max, 5000..<6000, 0..<10],
        ]
        for rules in Self.rules {
            var options = Reader.Options()
            options.sampleTables = rules
            for ranges in sets {
                let times = try ranges.map { try time($0, whole.track.sampleRateHz) }
                let (mine, theirs) = (try ReadBack.file(path, times, options: options), try ReadBack.file(path, times))
                #expect(
                    try mine.pcm == theirs.pcm && mine.stretches.map(\.position) == theirs.stretches.map(\.position)
                )
                let wanted = try ranges.map { try pcm.cut(Int($0.lowerBound)..<Int(min($0.upperBound, length))) }
                #expect(try test.arguments.contains("libopus") || mine.pcm == PCM.joined(wanted), "\(ranges)")
            }
        }
    }

    private func time(_ frames: Range<Int64>, _ rate: Int) throws -> MediaTimeRange {
        let end =
            frames.upperBound == .max ? MediaTime.positiveInfinity : MediaTime(frames: frames.upperBound, rate: rate)
        return try MediaTimeRange(start: MediaTime(frames: frames.lowerBound, rate: rate), end: end)
    }

    /// Seeks land among the hidden samples, at their edges and among the samples that libav sees.
    @Test(arguments: ["", "-c:a alac"]) func jumpsAreAsExactAsByLibavsIndex(codec: String) throws {
        let path = folder.path("a.m4a")
        let frames = 1_600_000
        try FFmpeg.run(
            [
                "-f", "lavfi", "-i", "anoisesrc=r=8000:a=0.1:seed=7", "-af", "atrim=end_sample=\(frames)", "-aac_pns",
                "0",
            ]
            .filter { codec.isEmpty || !["-aac_pns", "0"].contains($0) }
                + codec.split(separator: " ").map(String.init) + [path]
        )
        let whole = try ReadBack.file(path).pcm
        let tables = try MP4Tables(Bytes.read(path))
        let count = Int64(tables.sizes.count)
        for rules in [
            WalkedBothWays.rules(head: 24), WalkedBothWays.rules(head: count / 2, tail: count / 8),
            WalkedBothWays.rules(head: 24, tail: count / 2, longest: 200_000),
        ] {
            var options = Reader.Options()
            options.sampleTables = rules
            for start in stride(from: Int64(150_000), to: Int64(frames) - 3000, by: 123_457) {
                let read = try ReadBack.file(path, [time(start..<start + 3000, 8000)], options: options)
                #expect(try read.pcm == whole.cut(Int(start)..<Int(start + 3000)), "\(start)")
                #expect(read.decodedPackets < 40)
            }
        }
    }
}
