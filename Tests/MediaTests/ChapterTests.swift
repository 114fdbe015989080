import Conversion
import TestSupport
import Testing

@testable import Media

/// Chapters arrive in all containers that can hold them, as ffprobe and our own reader find them.
@Suite struct ChapterTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    /// A second of sound in a WAV file with cue points at these frames, and titles for them.
    private func source(_ marks: [(frame: Int64, title: String?)]) throws -> String {
        let (sound, path) = (folder.path("sound.wav"), folder.path("marked.wav"))
        try WAVFile.write(Signal.sweep(rate: 44_100, frames: 44_100).pcm(.s16), to: sound)
        func little(_ value: Int64) -> [UInt8] { bigEndianBytes(value, count: 4).reversed() }
        var (cues, labels) = (little(Int64(marks.count)), Array("adtl".utf8))
        for (index, mark) in marks.enumerated() {
            let id = little(Int64(index + 1))
            cues += id + little(mark.frame) + Array("data".utf8)
            cues += little(0) + little(0) + little(mark.frame)
            guard let title = mark.title else { continue }
            var text = Array(title.utf8) + [0]
            labels += Array("labl".utf8) + little(Int64(text.count + 4)) + id
            if text.count % 2 == 1 { text.append(0) }
            labels += text
        }
        var bytes = try Bytes.read(sound)
        bytes += Array("cue ".utf8) + little(Int64(cues.count)) + cues
        bytes += Array("LIST".utf8) + little(Int64(labels.count)) + labels
        bytes.replaceSubrange(4..<8, with: little(Int64(bytes.count - 8)))
        try Bytes.write(bytes, to: path)
        return path
    }

    private static let marks: [(frame: Int64, title: String?)] = [(0, "One"), (12_345, "Žwei"), (30_001, "Three")]

    private func own(_ path: String) throws -> [Chapter] {
        let input = try OpenFile.reading(path)
        return try Reader(descriptor: input.descriptor, options: .init(nameHint: path)).description.chapters
    }

    /// The ticks of a second in which each container counts; 0 for frames.
    @Test(arguments: [
        ("a.wav", 0), ("a.aiff", 0), ("a.aifc", 0), ("a.caf", 0), ("a.mka", 1_000_000_000), ("a.m4a", 0),
        ("a.mp3", 1_000), ("a.flac", 1_000), ("a.ogg", 1_000), ("a.opus", 1_000), ("a.wv", 75),
    ])
    func chaptersArrive(name: String, ticks: Int) throws {
        let path = folder.path(name)
        let ext = String(name.dropFirst(2))
        let container = try #require(Container.allCases.first { $0.fileExtensions.contains(ext) })
        let format = AudioFormat(container: container, codec: ext == "opus" ? .opus : nil)
        let outcome = try Converted.file(source(Self.marks), to: path, as: format, verifies: true)
        #expect(outcome.remarks.allSatisfy { $0.kind != .chapters })
        let found = try own(path)
        #expect(found.map(\.title) == ["One", "Žwei", "Three"])
        let (rate, clock) = (44_100, ticks == 0 ? 44_100 : ticks)
        for (chapter, mark) in zip(found, Self.marks) {
            // The nearest tick of the container's clock.
            let wanted = MediaTime(frames: mark.frame, rate: rate).frames(atRate: clock)?.frames
            #expect(chapter.startTicks(clock) == wanted, "\(chapter)")
        }
        // libav does not read the marks of AIFF and CAF, and no CUE sheets.
        guard ![.aiff, .aifc, .caf, .wavpack].contains(container) else { return }
        let probed = try FFmpeg.probe(path).chapters
        #expect(probed.map { $0.tags["title"] } == ["One", "Žwei", "Three"])
    }

    @Test(arguments: ["a.wav", "a.aiff"]) func chunksOfMarksLeaveTheFileWhole(name: String) throws {
        let path = folder.path(name)
        let container: Container = name == "a.wav" ? .wav : .aiff
        let further: [(frame: Int64, title: String?)] = [(40_000, nil), (41_000, "even"), (42_000, "odd")]
        let marks = Self.marks + further
        try Converted.file(source(marks), to: path, as: AudioFormat(container: container), tags: ["mood": "x"])
        let input = try OpenFile.reading(path)
        let bytes = try ByteSource(descriptor: input.descriptor, stop: StopSignal())
        let chunks: Chunks = container == .wav ? .riff : .iff
        #expect(chunks.areComplete(in: bytes))
        #expect(try own(path).map(\.title) == ["One", "Žwei", "Three", nil, "even", "odd"])
        let pcm = try Decoded.file(path)
        #expect(try pcm.bytes == Decoded.file(folder.path("sound.wav")).bytes)
    }

    /// As Apple's description of the format has them. Chunks behind the sound do not change it.
    @Test func chunksOfMarksInCAFAreWhole() throws {
        let path = folder.path("a.caf")
        let marks: [(frame: Int64, title: String?)] = [(0, "One"), (12_345, nil), (30_001, "Two")]
        try Converted.file(source(marks), to: path, as: AudioFormat(container: .caf), verifies: true)
        func mark(_ frame: Int64, _ id: Int64) -> [UInt8] {
            let place = bigEndianBytes(Int64(bitPattern: Double(frame).bitPattern), count: 8)
            let front: [UInt8] = [0, 0, 0, 0] + place + bigEndianBytes(id, count: 4)
            return front + [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0]
        }
        var wanted: [UInt8] = Array("mark".utf8) + [0, 0, 0, 0, 0, 0, 0, 92]
        wanted += [0, 0, 0, 0, 0, 0, 0, 3]
        wanted += mark(0, 1) + mark(12_345, 2) + mark(30_001, 3)
        wanted += Array("strg".utf8) + [0, 0, 0, 0, 0, 0, 0, 36]
        wanted += [0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]
        wanted += [0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4]
        wanted += Array("One\0Two\0".utf8)
        #expect(try Bytes.read(path).suffix(wanted.count) == wanted[...])
        #expect(try FFmpeg.decode(path) == FFmpeg.decode(folder.path("sound.wav")))
    }

    @Test func partsMoveChaptersInFiles() throws {
        let path = folder.path("part.wav")
        let start = MediaTime(frames: 10_000, rate: 44_100)
        let range = try MediaTimeRange(start: start, end: MediaTime(value: 1, timescale: 1))
        try Converted.file(source(Self.marks), to: path, as: AudioFormat(container: .wav), ranges: [range])
        #expect(try own(path).map { $0.startTicks(44_100) } == [0, 2_345, 20_001])
        #expect(try own(path).map(\.title) == ["One", "Žwei", "Three"])
    }

    /// Apple's players look for the track, others for the list, which has 255 at most.
    @Test func chaptersOfMP4AreInATrackAndInAList() throws {
        let (path, late) = (folder.path("many.m4b"), folder.path("late.m4b"))
        let marks: [(frame: Int64, title: String?)] = (0..<300).map { (Int64($0 * 101), "\($0)") }
        let outcome = try Converted.file(source(marks), to: path, as: AudioFormat(container: .m4a), verifies: true)
        #expect(outcome.remarks.allSatisfy { $0.kind != .chapters })
        #expect(try own(path).map { $0.startTicks(44_100) } == marks.map(\.frame))
        #expect(try own(path).map(\.title) == marks.map(\.title))
        let input = try OpenFile.reading(path)
        let bytes = try ByteSource(descriptor: input.descriptor, stop: StopSignal())
        let movie = try #require(bytes.box("moov", in: bytes.boxRange))
        let list = try #require(bytes.box("udta", in: movie).flatMap { bytes.box("chpl", in: $0) })
        #expect(bytes.bytes(at: list.lowerBound + 8, count: 1) == [255])
        let sound = try #require(bytes.box("trak", in: movie))
        #expect(bytes.box("tref", in: sound) != nil)
        // Nothing is a chapter before the first one.
        let middle: [(frame: Int64, title: String?)] = [(777, "One"), (12_345, "Two")]
        try Converted.file(source(middle), to: late, as: AudioFormat(container: .m4a), verifies: true)
        #expect(try own(late).map { $0.startTicks(44_100) } == [777, 12_345])
        #expect(try own(late).map(\.title) == ["One", "Two"])
        #expect(try own(late).map { $0.endTicks(44_100) } == [12_345, 44_100])
        let ends = try FFmpeg.probe(late).chapters.map { ($0.end * 44_100).rounded() }
        #expect(ends == [12_345, 44_100])
    }

    /// Another rate does not move them.
    @Test func anotherRateKeepsTheirTimes() throws {
        let path = folder.path("slow.wav")
        try Converted.file(source(Self.marks), to: path, as: AudioFormat(container: .wav, sampleRateHz: 22_050))
        #expect(try own(path).map { $0.startTicks(22_050) } == [0, 6_173, 15_001])
    }

    @Test func copiedPacketsHaveThem() throws {
        let (first, second) = (folder.path("a.flac"), folder.path("b.mka"))
        try Converted.file(source(Self.marks), to: first, as: AudioFormat(container: .flac))
        let outcome = try Converted.file(first, to: second, as: AudioFormat(container: .mka, codec: .copy))
        #expect(outcome.remarks.allSatisfy { $0.kind != .chapters })
        let titles = try FFmpeg.probe(second).chapters.map { $0.tags["title"] }
        #expect(titles == ["One", "Žwei", "Three"])
    }

    /// The last one ends with the output.
    @Test(arguments: ["a.mp3", "a.mka", "a.m4a"]) func chaptersThatAreSetReplaceThoseOfTheSource(name: String) throws {
        let path = folder.path(name)
        let input = try OpenFile.reading(source(Self.marks))
        let output = try OpenFile.creating(path)
        let container: Container = name == "a.mp3" ? .mp3 : name == "a.mka" ? .mka : .m4a
        var recipe = Recipe(
            from: .init(location: "in.wav"),
            to: .init(location: name, format: AudioFormat(container: container))
        )
        recipe.chapters = [.init(at: .zero, title: "A"), .init(at: MediaTime(value: 1, timescale: 4), title: "B")]
        let outcome = try Converter(.init(recipe)).run(from: input.descriptor, to: output.descriptor)
        #expect(outcome.remarks.allSatisfy { $0.kind != .chapters })
        let found = try FFmpeg.probe(path).chapters
        #expect(found.map { $0.tags["title"] } == ["A", "B"])
        #expect(found.map(\.start) == [0, 0.25] && abs((found.last?.end ?? 0) - 1) < 0.03, "\(found)")
    }

    /// Chapters of another edition of a book may be longer than its sound.
    @Test(arguments: ["a.mka", "a.m4a", "a.wav"], [false, true])
    func chaptersBehindTheEndAreLeftOutAndTold(name: String, isTimeline: Bool) throws {
        let input = try OpenFile.reading(source(Self.marks))
        let path = folder.path(name)
        let output = try OpenFile.creating(path)
        let container: Container = name == "a.wav" ? .wav : name == "a.mka" ? .mka : .m4a
        var request = Converter.Request(format: AudioFormat(container: container))
        if isTimeline {
            request.timeline = Timeline(tracks: [.init(pieces: [Piece(.source("a"))])])
            request.inputs = [.init(name: "a", nameHint: "a.wav")]
        }
        let starts = [.zero, MediaTime(value: 1, timescale: 2), MediaTime(value: 1, timescale: 1)]
        let late = MediaTime(value: 300, timescale: 1)
        for (start, end) in zip(starts + [late], starts.dropFirst() + [late, .positiveInfinity]) {
            request.chapters.append(Chapter(start: start, end: end, title: "A"))
        }
        let outcome = try Converter(request).run(from: [input.descriptor], to: [output.descriptor])[0]
        let told = outcome.remarks.first { $0.kind == .chapters }
        #expect(told?.count == 2)
        #expect(told?.detail == "2 chapters were not carried over: the sound ends before they begin")
        let found = try own(path)
        #expect(found.map { $0.startTicks(1_000) } == [0, 500])
        #expect(found.map { $0.endTicks(1_000) } == [500, 1_000])
        request.chapters.removeLast(3)
        request.chapters[0] = Chapter(start: .zero, end: late)
        let same = try OpenFile.reading(folder.path("marked.wav"))
        let again = try OpenFile.creating(path)
        let whole = try Converter(request).run(from: [same.descriptor], to: [again.descriptor])[0]
        #expect(whole.remarks.allSatisfy { $0.kind != .chapters })
        #expect(try own(path).map { $0.endTicks(1_000) } == [1_000])
    }

    /// The file that gives the tags may be longer than the sound.
    @Test(arguments: [false, true]) func chaptersOfALongerFileAreLeftOutAndTold(isTimeline: Bool) throws {
        let input = try OpenFile.reading(source(Self.marks))
        let path = folder.path("short.mka")
        let output = try OpenFile.creating(path)
        var request = Converter.Request(format: AudioFormat(container: .mka))
        let chapters = [Int64(0), 20_000, 50_000].map { frame in
            let start = MediaTime(frames: frame, rate: 44_100)
            return Chapter(start: start, end: MediaTime(frames: frame + 20_000, rate: 44_100), title: "\(frame)")
        }
        request.tagged = SourceDescription(
            container: "matroska",
            tracks: [],
            tags: [],
            chapters: chapters,
            pictures: []
        )
        if isTimeline {
            request.timeline = Timeline(tracks: [.init(pieces: [Piece(.source("a"))])])
            request.inputs = [.init(name: "a", nameHint: "a.wav")]
        }
        let outcome = try Converter(request).run(from: [input.descriptor], to: [output.descriptor])[0]
        let told = outcome.remarks.first { $0.kind == .chapters }
        #expect(told?.detail == "1 chapter was not carried over: the sound ends before it begins")
        #expect(try own(path).map(\.title) == ["0", "20000"])
    }

    /// libav begins them with the pauses before tracks, and has ISRCs in place of titles.
    @Test func tracksOfASheetInFLACAreChapters() throws {
        let (sound, path) = (folder.path("s.wav"), folder.path("album.flac"))
        try WAVFile.write(Signal.sweep(rate: 44_100, frames: 176_400).pcm(.s16), to: sound)
        try Run.program("flac", ["-s", sound, "-o", path]).checked()
        let sheet = """
            FILE "s.wav" WAVE
              TRACK 01 AUDIO
                TITLE "One"
                ISRC DEA061200001
                INDEX 01 00:00:00
              TRACK 02 AUDIO
                INDEX 00 00:01:00
                INDEX 01 00:01:37
              TRACK 03 AUDIO
                TITLE "Three"
                INDEX 01 00:02:74
            """
        try Bytes.write(Array((sheet + "\n").utf8), to: folder.path("a.cue"))
        try Run.program("metaflac", ["--import-cuesheet-from=" + folder.path("a.cue"), path]).checked()
        #expect(try own(path).map { $0.startTicks(44_100) } == [0, 65_856, 131_712])
        #expect(try own(path).map(\.title) == [nil, nil, nil])
        #expect(try own(path).map { $0.endTicks(44_100) } == [65_856, 131_712, 176_400])
        try Run.program("metaflac", ["--set-tag-from-file=CUESHEET=" + folder.path("a.cue"), path]).checked()
        #expect(try own(path).map(\.title) == ["One", nil, "Three"])
        let out = folder.path("album.wav")
        try Converted.file(path, to: out, as: AudioFormat(container: .wav))
        #expect(try own(out).map { $0.startTicks(44_100) } == [0, 65_856, 131_712])
        // libav would mix them with chapters in the comments.
        let comments = ["--set-tag=CHAPTER000=00:00:00.500", "--set-tag=CHAPTER000NAME=Half"]
        try Run.program("metaflac", comments + [path]).checked()
        #expect(try own(path).map(\.title) == ["One", nil, "Three"])
    }

    /// Two seconds of sound in FLAC with this CUE sheet in a tag.
    private func tagged(_ sheet: String) throws -> String {
        let (sound, path) = (folder.path("t.wav"), folder.path("tagged.flac"))
        try WAVFile.write(Signal.sweep(rate: 44_100, frames: 88_200).pcm(.s16), to: sound)
        try Bytes.write(Array(sheet.utf8), to: folder.path("t.cue"))
        try Run.program("flac", ["-s", "-f", sound, "-o", path]).checked()
        try Run.program("metaflac", ["--set-tag-from-file=CUESHEET=" + folder.path("t.cue"), path]).checked()
        return path
    }

    private static let sheet = """
        PERFORMER "Ada"
        FILE "t.wav" WAVE
          TRACK 01 AUDIO
            TITLE "One"
            INDEX 01 00:00:00
          TRACK 02 AUDIO
            TITLE "Žwei"
            INDEX 00 00:00:60
            INDEX 01 00:01:01

        """

    @Test func tracksOfASheetInATagAreChapters() throws {
        let (path, out) = (try tagged(Self.sheet), folder.path("out.mka"))
        #expect(try own(path).map { $0.startTicks(44_100) } == [0, 44_688])
        #expect(try own(path).map { $0.endTicks(44_100) } == [44_688, 88_200])
        #expect(try own(path).map(\.title) == ["One", "Žwei"])
        try Converted.file(path, to: out, as: AudioFormat(container: .mka))
        let probed = try FFmpeg.probe(out).chapters
        #expect(probed.map { $0.tags["title"] } == ["One", "Žwei"])
        // The points of the file have each track once.
        let input = try OpenFile.reading(path)
        let points = try Reader(descriptor: input.descriptor, options: .init(nameHint: path)).points().points
        #expect(points.filter { $0.kind == .chapter }.isEmpty)
        #expect(points.filter { $0.kind == .cueTrack }.map(\.frame) == [0, 44_688])
    }

    /// It counts from the start of the source. The chapters move.
    @Test func partsDoNotHaveTheSheetOfTheWhole() throws {
        let (path, whole, part) = (try tagged(Self.sheet), folder.path("whole.ogg"), folder.path("part.ogg"))
        let half = MediaTime(value: 1, timescale: 2)
        try Converted.file(path, to: whole, as: AudioFormat(container: .ogg))
        let range = try MediaTimeRange(start: half, end: .positiveInfinity)
        try Converted.file(path, to: part, as: AudioFormat(container: .ogg), ranges: [range])
        func names(_ path: String) throws -> [String] {
            try FFmpeg.probe(path).streams.flatMap { $0.tags.keys.map { $0.uppercased() } }
        }
        #expect(try names(whole).contains("CUESHEET"))
        #expect(try !names(part).contains("CUESHEET"))
        #expect(try own(part).map { $0.startTicks(1_000) } == [0, 513])
    }

    /// The sheet says the same.
    @Test(arguments: [(Container.adts, Int64(0)), (.w64, 2)])
    func chaptersOfASheetThatIsKeptAreNotLost(container: Container, lost: Int64) throws {
        let (path, out) = (try tagged(Self.sheet), folder.path("out"))
        let outcome = try Converted.file(path, to: out, as: AudioFormat(container: container))
        #expect((outcome.remarks.first { $0.kind == .chapters }?.count ?? 0) == lost)
    }

    /// Of longer sound, of several files, and with times that are none.
    @Test(arguments: [("00:01:01", "00:02:00"), ("FILE", "FILE \"u.wav\" WAVE\nFILE"), ("00:01:01", "00:01:75")])
    func sheetsOfOtherSoundAreOnlyTags(part: String, replacement: String) throws {
        let parts = Self.sheet.split(separator: part, omittingEmptySubsequences: false)
        #expect(parts.count == 2)
        #expect(try own(tagged(parts.joined(separator: replacement))).isEmpty)
    }

    /// As foobar2000 and other players of WavPack look for them.
    @Test func wavPackHasThemInASheet() throws {
        let (path, again) = (folder.path("a.wv"), folder.path("again.wv"))
        let marks: [(frame: Int64, title: String?)] = [(588, "A \"word\""), (600, "as soon"), (30_001, nil)]
        let outcome = try Converted.file(source(marks), to: path, as: AudioFormat(container: .wavpack), verifies: true)
        #expect(outcome.remarks.allSatisfy { $0.kind != .chapters })
        let tags = try FFmpeg.probe(path).tags
        let sheet = try #require(tags.first { $0.key.lowercased() == "cuesheet" }?.value)
        let lines: [String] = sheet.split(whereSeparator: \.isNewline).map(String.init)
        let wanted: [String] = [
            "FILE \"sound.wv\" WAVE", "  TRACK 01 AUDIO", "    TITLE \"A 'word'\"", "    INDEX 01 00:00:01",
            "  TRACK 02 AUDIO", "    INDEX 01 00:00:51",
        ]
        #expect(lines == wanted)
        // A sheet of the source stays as it is, with all that it says.
        try Converted.file(tagged(Self.sheet), to: again, as: AudioFormat(container: .wavpack))
        let kept = try FFmpeg.probe(again).tags.first { $0.key.lowercased() == "cuesheet" }?.value
        #expect(kept?.contains("PERFORMER \"Ada\"") == true)
        #expect(try own(again).map { $0.startTicks(44_100) } == [0, 44_688])
    }

    /// A byte counts the chapters of MP3.
    @Test func chaptersBeyondThePlacesAreTold() throws {
        let path = folder.path("many.mp3")
        let marks: [(frame: Int64, title: String?)] = (0..<300).map { (Int64($0 * 100), "\($0)") }
        let outcome = try Converted.file(source(marks), to: path, as: AudioFormat(container: .mp3))
        let told = try #require(outcome.remarks.first { $0.kind == .chapters })
        #expect(told.count == 45 && told.detail == "45 chapters were not carried over")
        #expect(try FFmpeg.probe(path).chapters.count == 255)
    }

    /// WAV and AIFF count frames in 32 bits, and CAF in floating-point numbers.
    @Test(arguments: [(Container.wav, Int64(1)), (.aiff, 1), (.caf, 0), (.mka, 0)])
    func chaptersBehindTheLastFrameThatIsCountedAreTold(container: Container, lost: Int64) throws {
        let shape = AudioShape(
            sampleRateHz: 48_000,
            channelCount: 2,
            layout: .stereo,
            bitDepth: 16,
            codecName: "pcm_s16le",
            isLossless: true
        )
        let format = try AudioFormat(container: container).resolved(for: shape)
        let chapters = [Int64(UInt32.max), 1 << 32].map { frame in
            let start = MediaTime(frames: frame, rate: 48_000)
            return Chapter(start: start, end: start, title: "A")
        }
        let told = SourceLoss.remarks(ofSet: chapters, behindEnd: 0, settingTags: [:], as: format, inStream: false)
        #expect((told.first?.count ?? 0) == lost)
        // One mark in WAV and AIFF, and two in CAF.
        let chunks = [
            ChapterChunks.riff(chapters, rate: 48_000), ChapterChunks.iff(chapters, rate: 48_000),
            ChapterChunks.caf(chapters, rate: 48_000),
        ]
        let sizes: [Int] = chunks.map { $0.first?.content.count ?? 0 }
        #expect(sizes == [28, 10, 64])
    }

    /// So that a hostile file takes no memory.
    @Test func marksBeyondThoseThatAreReadAreTold() throws {
        let (first, second) = (folder.path("many.aiff"), folder.path("out.mka"))
        let marks: [(frame: Int64, title: String?)] = (0..<4_010).map { (Int64($0 * 10), nil) }
        try Converted.file(source(marks), to: first, as: AudioFormat(container: .aiff))
        let outcome = try Converted.file(first, to: second, as: AudioFormat(container: .mka))
        #expect(outcome.remarks.first { $0.kind == .chapters }?.count == 10)
        #expect(try FFmpeg.probe(second).chapters.count == 4_000)
    }

    @Test(arguments: [Container.w64, .au]) func otherContainersLoseThem(container: Container) throws {
        let path = folder.path("lost")
        let outcome = try Converted.file(source(Self.marks), to: path, as: AudioFormat(container: container))
        let told = outcome.remarks.first { $0.kind == .chapters }
        #expect(told?.count == 3 && told?.brief == "3 chapters lost")
    }

    /// Tags that are not wanted are not lost, but chapters that are set may be.
    @Test(arguments: [(Container.w64, Int64(2)), (.wav, 0)])
    func chaptersThatAreSetWithoutTagsAreTold(container: Container, lost: Int64) throws {
        let input = try OpenFile.reading(source(Self.marks))
        let output = try OpenFile.creating(folder.path("bare"))
        var request = Converter.Request(format: AudioFormat(container: container))
        request.dropsTags = true
        let second = MediaTime(value: 1, timescale: 2)
        request.chapters = [
            Chapter(start: .zero, end: second, title: "A"), Chapter(start: second, end: .positiveInfinity),
        ]
        let outcome = try Converter(request).run(from: input.descriptor, to: output.descriptor)
        #expect((outcome.remarks.first { $0.kind == .chapters }?.count ?? 0) == lost)
    }
}
