import Conversion
import TestSupport
import Testing

@testable import Media

/// Chapters move with every edit of a timeline.
@Suite struct TimelineChapterTests {
    /// Chapters at these milliseconds of a second of sound.
    private static func source(_ starts: [Int64], _ letter: String) -> TimelineChapters.Source {
        let ends = Array(starts.dropFirst()) + [1_000]
        let chapters = starts.indices.map { index in
            Chapter(
                start: MediaTime(frames: starts[index], rate: 1_000),
                end: MediaTime(frames: ends[index], rate: 1_000),
                title: letter + "\(index + 1)"
            )
        }
        return TimelineChapters.Source(chapters, rate: 1_000)
    }

    private static let sources = [source([0, 400], "a"), source([0, 500], "b"), source([], "c")]

    private func part(
        _ place: Range<Int64>,
        _ source: Int,
        _ frames: Range<Int64> = 0..<1_000,
        isReversed: Bool = false,
        times: Int64 = 1
    ) -> MixPlan.Part {
        var plan = SourcePlan(source: source, frames: frames)
        (plan.isReversed, plan.times) = (isReversed, times)
        return MixPlan.Part(place: place, sound: .source(plan))
    }

    private func track(_ parts: [MixPlan.Part]) -> MixPlan.Part {
        let plan = MixPlan(frames: parts.map(\.place.upperBound).max() ?? 0, parts: parts)
        return MixPlan.Part(place: 0..<plan.frames, sound: .mix(plan, isReversed: false))
    }

    private func chapters(_ tracks: [MixPlan.Part], rate: Int = 1_000) -> TimelineChapters {
        let plan = MixPlan(frames: tracks.map(\.place.upperBound).max() ?? 0, parts: tracks)
        return TimelineChapters(plan, sources: Self.sources, rate: rate)
    }

    /// Title, start and end in milliseconds.
    private func texts(_ found: TimelineChapters) -> [String] {
        found.chapters.map { "\($0.title ?? "") \($0.startTicks(1_000) ?? -1)-\($0.endTicks(1_000) ?? -1)" }
    }

    @Test func piecesThatFollowOneAnotherBringTheirChapters() {
        let joined = chapters([track([part(0..<1_000, 0), part(1_000..<2_000, 1), part(2_000..<3_000, 2)])])
        #expect(texts(joined) == ["a1 0-400", "a2 400-1000", "b1 1000-1500", "b2 1500-2000"])
        #expect(joined.lost == 0)
    }

    @Test func cutsPausesAndCrossfadesMoveThem() {
        let cut = chapters([track([part(0..<300, 0, 300..<600), part(500..<900, 1, 400..<800)])])
        #expect(texts(cut) == ["a1 0-100", "a2 100-300", "b1 500-600", "b2 600-900"])
        // The second piece begins while the first one fades.
        let faded = chapters([track([part(0..<1_000, 0), part(900..<1_900, 1)])])
        #expect(texts(faded) == ["a1 0-400", "a2 400-1000", "b1 900-1400", "b2 1400-1900"])
    }

    @Test func loopsRepeatThem() {
        let twice = texts(chapters([track([part(0..<2_000, 0, times: 2)])]))
        #expect(twice == ["a1 0-400", "a2 400-1000", "a1 1000-1400", "a2 1400-2000"])
        // Cut in the middle of the second round.
        let cut = texts(chapters([track([part(0..<1_200, 0, times: 3)])]))
        #expect(cut == ["a1 0-400", "a2 400-1000", "a1 1000-1200"])
    }

    /// 44.1 kHz on a clock of 48 kHz: a source of 44,101 frames is no whole number of frames of the clock.
    @Test func otherRatesAddNoError() throws {
        let source = TimelineChapters.Source(
            [
                Chapter(start: .zero, end: MediaTime(frames: 11, rate: 44_100), title: "a"),
                Chapter(start: MediaTime(frames: 11, rate: 44_100), end: MediaTime(value: 1, timescale: 1), title: "b"),
            ],
            rate: 44_100
        )
        var plan = SourcePlan(source: 0, frames: 0..<44_101)
        plan.times = 1_000
        let part = MixPlan.Part(place: 0..<48_001_088, sound: .source(plan))
        let whole = MixPlan(frames: 48_001_088, parts: [part])
        let found = TimelineChapters(whole, sources: [source], rate: 48_000).chapters
        #expect(found.count == 2_000)
        for round in [0, 1, 500, 999] {
            let exact = MediaTime(frames: Int64(round) * 44_101 + 11, rate: 44_100)
            #expect(found[2 * round + 1].start.frames(atRate: 48_000)?.frames == exact.frames(atRate: 48_000)?.frames)
        }
    }

    @Test func backwardsAndFurtherTracksHaveNone() {
        let reversed = chapters([track([part(0..<1_000, 0, isReversed: true), part(1_000..<2_000, 1)])])
        #expect(texts(reversed) == ["b1 1000-1500", "b2 1500-2000"] && reversed.lost == 2)
        let mixed = chapters([track([part(0..<1_000, 0)]), track([part(0..<1_000, 1)])])
        #expect(texts(mixed) == ["a1 0-400", "a2 400-1000"] && mixed.lost == 2)
    }

    @Test func oneChapterDividesNothing() {
        #expect(texts(chapters([track([part(0..<300, 0, 0..<300)])])) == [])
        #expect(texts(chapters([track([part(0..<1_000, 2)])])) == [])
        // Behind sound without chapters it does.
        #expect(texts(chapters([track([part(0..<1_000, 2), part(1_000..<1_300, 0, 0..<300)])])) == ["a1 1000-1300"])
    }

    /// Tracks that hold each other twice, forty times over, would never end.
    @Test func nestedTracksAreReadWithinALimit() {
        var plan = MixPlan(frames: 1_000, parts: [part(0..<1_000, 2)])
        for _ in 0..<40 {
            let inner = MixPlan.Sound.mix(plan, isReversed: false)
            let parts = [
                MixPlan.Part(place: 0..<plan.frames, sound: inner),
                MixPlan.Part(place: plan.frames..<2 * plan.frames, sound: inner),
            ]
            plan = MixPlan(frames: 2 * plan.frames, parts: parts)
        }
        #expect(TimelineChapters(plan, sources: Self.sources, rate: 1_000).chapters.isEmpty)
    }

    // MARK: Files

    /// By the title, or the name of the file. A file with chapters keeps them.
    @Test func markedSourcesAreChapters() throws {
        let folder = try TemporaryFolder.create()
        let (sound, titled, book) = (folder.path("01 Start.wav"), folder.path("b.flac"), folder.path("c.mka"))
        try WAVFile.write(Signal.sweep(rate: 44_100, frames: 44_100).pcm(.s16), to: sound)
        try FFmpeg.encode(sound, to: titled, ["-metadata", "title=The tide"])
        let list = folder.path("chapters.txt")
        let parts = ["0\nEND=300\ntitle=One", "300\nEND=1000"]
        let text = ";FFMETADATA1\n" + parts.map { "[CHAPTER]\nTIMEBASE=1/1000\nSTART=\($0)\n" }.joined()
        try Bytes.write(Array(text.utf8), to: list)
        try FFmpeg.encode(sound, to: book, ["-i", list, "-map", "0:a", "-map_chapters", "1", "-c:a", "flac"])
        var request = Converter.Request(format: AudioFormat(container: .m4a))
        let pieces = ["a", "b", "c"].map { Piece(.source($0)) }
        request.timeline = Timeline(tracks: [.init(pieces: pieces)])
        request.inputs = [
            .init(name: "a", nameHint: "in:" + sound), .init(name: "b", nameHint: titled),
            .init(name: "c", nameHint: book),
        ]
        request.marksSources = true
        let first = try OpenFile.reading(sound)
        let second = try OpenFile.reading(titled)
        let third = try OpenFile.reading(book)
        let path = folder.path("book.m4b")
        let output = try OpenFile.creating(path)
        let sources = [first.descriptor, second.descriptor, third.descriptor]
        _ = try Converter(request).run(from: sources, to: output.descriptor)
        let found = try FFmpeg.probe(path).chapters
        #expect(found.map(\.start) == [0, 1, 2, 2.3])
        #expect(found.map { $0.tags["title"] ?? "" } == ["01 Start", "The tide", "One", ""])
    }

    /// A book is not called as its first chapter.
    @Test(arguments: [true, false]) func booksHaveTheTagsThatAllFilesAgreeOn(isBook: Bool) throws {
        let folder = try TemporaryFolder.create()
        let (sound, path) = (folder.path("s.wav"), folder.path("book.flac"))
        try WAVFile.write(Signal.sweep(rate: 44_100, frames: 4_410).pcm(.s16), to: sound)
        let common = ["-T", "ALBUM=The harbour", "-T", "ARTIST=Ada", "-T", "ARTIST=Eve", "-T", "TRACKTOTAL=2"]
        let own: [[String]] = [
            ["-T", "TITLE=One", "-T", "TRACKNUMBER=1", "-T", "DATE=1999"], ["-T", "TITLE=Two", "-T", "TRACKNUMBER=2"],
        ]
        let files = [folder.path("1.flac"), folder.path("2.flac")]
        for (file, tags) in zip(files, own) {
            try Run.program("flac", ["-s"] + common + tags + [sound, "-o", file]).checked()
        }
        var request = Converter.Request(format: AudioFormat(container: .flac))
        request.timeline = Timeline(tracks: [.init(pieces: [Piece(.source("a")), Piece(.source("b"))])])
        request.inputs = [.init(name: "a", nameHint: files[0]), .init(name: "b", nameHint: files[1])]
        request.marksSources = isBook
        let one = try OpenFile.reading(files[0])
        let two = try OpenFile.reading(files[1])
        let output = try OpenFile.creating(path)
        _ = try Converter(request).run(from: [one.descriptor, two.descriptor], to: output.descriptor)
        let listed = try Run.program("metaflac", ["--export-tags-to=-", path]).checked().outputText
        let found: [String] = listed.split(separator: "\n").map { line in
            let name = line.prefix { $0 != "=" }
            return name.uppercased() + line.dropFirst(name.count)
        }
        let wanted: [String] = ["ALBUM=The harbour", "ARTIST=Ada", "ARTIST=Eve"]
        let ofFirst: [String] = ["DATE=1999", "TITLE=One", "TRACKNUMBER=1", "TRACKTOTAL=2"]
        let texts = found.filter { !$0.hasPrefix("ENCODER=") && !$0.hasPrefix("CHAPTER") }
        #expect(texts.sorted() == (isBook ? wanted : (wanted + ofFirst).sorted()))
    }

    @Test func joinedBooksHaveAllChapters() throws {
        let folder = try TemporaryFolder.create()
        let (sound, first, second) = (folder.path("s.wav"), folder.path("a.mka"), folder.path("b.mka"))
        try WAVFile.write(Signal.sweep(rate: 44_100, frames: 44_100).pcm(.s16), to: sound)
        let list = folder.path("chapters.txt")
        let texts = ["0\nEND=300\ntitle=One", "300\nEND=1000\ntitle=Two"]
        let text = ";FFMETADATA1\n" + texts.map { "[CHAPTER]\nTIMEBASE=1/1000\nSTART=\($0)\n" }.joined()
        try Bytes.write(Array(text.utf8), to: list)
        for path in [first, second] {
            try FFmpeg.encode(sound, to: path, ["-i", list, "-map", "0:a", "-map_chapters", "1", "-c:a", "flac"])
        }
        var request = Converter.Request(format: AudioFormat(container: .m4a))
        request.timeline = Timeline(tracks: [.init(pieces: [Piece(.source("a")), Piece(.source("b"))])])
        request.inputs = [.init(name: "a", nameHint: first), .init(name: "b", nameHint: second)]
        let one = try OpenFile.reading(first)
        let two = try OpenFile.reading(second)
        let path = folder.path("book.m4b")
        let output = try OpenFile.creating(path)
        let outcome = try Converter(request).run(from: [one.descriptor, two.descriptor], to: output.descriptor)
        #expect(outcome.remarks.allSatisfy { $0.kind != .chapters })
        let found = try FFmpeg.probe(path).chapters
        #expect(found.map { $0.tags["title"] } == ["One", "Two", "One", "Two"])
        #expect(found.map(\.start) == [0, 0.3, 1, 1.3])
    }
}
