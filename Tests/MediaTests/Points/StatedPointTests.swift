import Conversion
import TestSupport
import Testing

@testable import Media

/// Cheaper for the type checker than a chain of operators.
private func joined(_ parts: [UInt8]...) -> [UInt8] { Array(parts.joined()) }

/// The letters of a name.
private func name(_ text: String) -> [UInt8] { Array(text.utf8) }

/// Marks that files state, in files that are written here byte by byte.
@Suite struct StatedPointTests {
    private let folder: TemporaryFolder
    private static let rate = 8_000
    private static let sound = Signal.noise(seed: 41, rate: rate, frames: 16_000, channels: 2, amplitude: 0.2)
        .pcm(.s16)

    init() throws { folder = try TemporaryFolder.create() }

    private func report(_ bytes: [UInt8], _ name: String) throws -> PointReport {
        let path = folder.path(name)
        try Bytes.write(bytes, to: path)
        let file = try OpenFile.reading(path)
        return try Reader(descriptor: file.descriptor, options: .init(nameHint: name)).points()
    }

    /// What the file states, without what was heard in its sound.
    private static func stated(_ report: PointReport) -> [SourcePoint] {
        report.points.filter { ![.soundStart, .soundEnd, .ending].contains($0.kind) }
    }

    private static func little(_ numbers: [Int]) -> [UInt8] {
        var bytes: [UInt8] = []
        for number in numbers { bytes.append(little: UInt32(truncatingIfNeeded: number)) }
        return bytes
    }

    private static func big(_ numbers: [Int]) -> [UInt8] {
        var bytes: [UInt8] = []
        for number in numbers { bytes.append(big: UInt32(truncatingIfNeeded: number)) }
        return bytes
    }

    // MARK: WAV

    private static func chunk(_ name: String, _ content: [UInt8], size: Int? = nil) -> [UInt8] {
        let padding: [UInt8] = content.count.isMultiple(of: 2) ? [] : [0]
        return joined(Array(name.utf8), little([size ?? content.count]), content, padding)
    }

    private static func cues(_ cues: [(id: Int, frame: Int)], count: Int? = nil) -> [UInt8] {
        let items = cues.map { joined(little([$0.id, $0.frame]), name("data"), little([0, 0, $0.frame])) }
        return chunk("cue ", joined(little([count ?? cues.count]), Array(items.joined())))
    }

    private static func label(_ id: Int, _ text: String) -> [UInt8] {
        chunk("labl", joined(little([id]), name(text), [0]))
    }

    private static func length(_ id: Int, _ frames: Int) -> [UInt8] {
        chunk("ltxt", joined(little([id, frames]), name("rgn "), [UInt8](repeating: 0, count: 8)))
    }

    private static func loops(_ loops: [(id: Int, type: Int, first: Int, last: Int)], count: Int? = nil) -> [UInt8] {
        let head = little([0, 0, 125_000, 60, 0, 0, 0, count ?? loops.count, 0])
        let items = loops.map { little([$0.id, $0.type, $0.first, $0.last, 0, 0]) }
        return chunk("smpl", joined(head, Array(items.joined())))
    }

    private static func wav(_ chunks: [UInt8]) throws -> [UInt8] {
        var bytes = try WAVFile.bytes(sound) + chunks
        bytes.replaceSubrange(4..<8, with: little([bytes.count - 8]))
        return bytes
    }

    @Test func cuePointsOfWAVHaveLabelsAndLengths() throws {
        let list = joined(name("adtl"), Self.label(1, "One"), Self.label(2, "Zwei: \u{E9}"), Self.length(2, 300))
        let chunks = joined(
            Self.cues([(3, 16_000), (1, 100), (2, 5_000), (4, 16_001)]),
            Self.chunk("LIST", list),
            Self.loops([(1, 0, 200, 299), (9, 1, 400, 400)])
        )
        let report = try report(Self.wav(chunks), "a.wav")
        let expected = [
            SourcePoint(.cue, at: 100, text: "One"), SourcePoint(.loop, at: 200, frames: 100, text: "forward, One"),
            SourcePoint(.loop, at: 400, frames: 1, text: "alternating"),
            SourcePoint(.region, at: 5_000, frames: 300, text: "Zwei: \u{E9}"), SourcePoint(.cue, at: 16_000),
        ]
        #expect(Self.stated(report) == expected)
        #expect(report.outside == 1 && report.frames == 16_000 && report.sampleRateHz == 8_000)
    }

    /// libav makes chapters of cue points, and states no end for them.
    @Test func chapterWithoutAnEndEndsWhereTheNextBegins() throws {
        let path = folder.path("a.wav")
        try Bytes.write(Self.wav(Self.cues([(3, 12_000), (1, 100), (2, 5_000)])), to: path)
        let file = try OpenFile.reading(path)
        let chapters = try Reader(descriptor: file.descriptor).description.chapters.sorted { $0.start < $1.start }
        let frames = chapters.map { [$0.start, $0.end].map { $0.frames(atRate: Self.rate)?.frames } }
        #expect(frames == [[100, 5_000], [5_000, 12_000], [12_000, 16_000]])
    }

    /// libav makes a chapter of such a place, too.
    @Test func placeInTheSilenceOfAListOfPiecesIsNoPoint() throws {
        var cues = Self.cues([(1, 100), (2, 5_000)])
        // Of the second one.
        cues.replaceSubrange(44..<48, with: name("slnt"))
        #expect(Self.stated(try report(Self.wav(cues), "a.wav")) == [SourcePoint(.cue, at: 100)])
    }

    /// The size in the chunk of the sound says nothing, also if it is zero, and the sound is no list of chunks.
    @Test(arguments: [0xFFFF_FFFF, 0]) func cuePointsBehindTheSoundOfRF64AreFound(size: Int) throws {
        var bytes = try Self.wav(Self.cues([(1, 100)]))
        let data = try #require(Bytes.find("data", in: bytes))
        let lure = Self.cues([(1, 7)])
        bytes.replaceSubrange(data + 8..<data + 8 + lure.count, with: lure)
        bytes.replaceSubrange(data + 4..<data + 8, with: Self.little([size]))
        bytes.replaceSubrange(0..<8, with: joined(name("RF64"), Self.little([0xFFFF_FFFF])))
        let (whole, sound) = (bytes.count + 36 - 8, Self.sound.bytes.count)
        let sizes = Self.little([whole, 0, sound, 0, Self.sound.frames, 0, 0])
        bytes.insert(contentsOf: Self.chunk("ds64", sizes), at: 12)
        #expect(Self.stated(try report(bytes, "a.wav")) == [SourcePoint(.cue, at: 100)])
    }

    @Test func cuePointsOfAPipeAreKnownAtItsEnd() throws {
        let list = Self.chunk("LIST", joined(name("adtl"), Self.label(1, "One")))
        let bytes = try Self.wav(joined(Self.cues([(1, 100)]), list))
        let pipe = try FilledPipe.holding(bytes)
        let reader = try Reader(descriptor: pipe.reading, options: .init(nameHint: "a.wav"))
        #expect(Self.stated(try reader.points()) == [SourcePoint(.cue, at: 100, text: "One")])
    }

    /// Numbers that no honest file has. Each file can still be read, and what is sensible in it is found.
    @Test func hostileChunksOfWAVGiveNothingImpossible() throws {
        let cue = SourcePoint(.cue, at: 100, text: "One")
        let list = joined(name("adtl"), Self.label(1, "One"), Self.label(1, "Two"))
        let labels = Self.chunk("LIST", list)
        let many = (0..<10_000).map { (id: 1, frame: $0) }
        let long = Self.chunk("LIST", joined(name("adtl"), Self.length(1, 0xFFFF_FFFF)))
        let broad = Self.chunk("LIST", joined(name("adtllabl"), Self.little([0xFFFF_FFFF, 1]), name("One"), [0]))
        let loops = Self.loops([(1, 0, 10, 0xFFFF_FFFF), (1, 0, 20, 10)], count: 0xFFFF_FFFF)
        let (region, plain) = (SourcePoint(.region, at: 15_000, frames: 1_000), SourcePoint(.cue, at: 100))
        let loop = SourcePoint(.loop, at: 10, frames: 15_990, text: "forward")
        var cases: [(name: String, chunks: [UInt8], stated: [SourcePoint])] = []
        cases.append(("count of 2^32", joined(Self.cues([(1, 100)], count: 0xFFFF_FFFF), labels), [cue]))
        cases.append(("the same number twice", joined(Self.cues([(1, 100), (1, 100)]), labels), [cue, cue]))
        cases.append(("a frame of 2^32", joined(Self.cues([(1, 100), (2, 0xFFFF_FFFF)]), labels), [cue]))
        cases.append(("a length of 2^32", joined(Self.cues([(1, 15_000)]), long), [region]))
        cases.append(("a label of 2^32 bytes", joined(Self.cues([(1, 100)]), broad), [cue]))
        cases.append(("loops of 2^32", loops, [loop]))
        cases.append(("an empty list", joined(Self.cues([(1, 100)]), Self.chunk("LIST", name("adtl"))), [plain]))
        cases.append(("a cut chunk", Self.chunk("cue ", Self.little([1, 2])), []))
        for (name, chunks, stated) in cases {
            let report = try report(Self.wav(chunks), "a.wav")
            #expect(Self.stated(report) == stated, "\(name)")
        }
        let crowded = try report(Self.wav(Self.cues(many)), "a.wav")
        #expect(Self.stated(crowded).count == PointReport.mostOfKind && crowded.found == ["cue": 10_000])
    }

    /// 4,096 bytes of a text are read. They end within a character of three bytes.
    @Test func labelIsCutBetweenCharacters() throws {
        for (start, character) in [("", "\u{65E5}"), ("a", "\u{65E5}"), ("ab", "\u{65E5}"), ("abc", "\u{1F3B5}")] {
            let text = start + String(repeating: character, count: 1_400)
            let list = Self.chunk("LIST", joined(name("adtl"), Self.label(1, text)))
            let found = Self.stated(try report(Self.wav(joined(Self.cues([(1, 10)]), list)), "a.wav"))
            let label = try #require(found.first?.text)
            #expect(label.hasPrefix(start + character) && label.hasSuffix(character + "…"), "\(label)")
        }
    }

    @Test func longLabelsAreCutAndOthersAreRead() throws {
        let texts = [String(repeating: "\u{FC}", count: 300), " spaced \n", ""]
        let latin = Self.chunk("labl", joined(Self.little([4]), [0xE9, 0]))
        let labels = texts.enumerated().map { Self.label($0.offset + 1, $0.element) }
        let list = Self.chunk("LIST", joined(name("adtl"), Array(labels.joined()), latin))
        let chunks = joined(Self.cues([(1, 10), (2, 20), (3, 30), (4, 40)]), list)
        let found = Self.stated(try report(Self.wav(chunks), "a.wav")).map(\.text)
        let long = try #require(found[0])
        #expect(long.utf8.count <= PointReport.mostTextBytes && long.hasSuffix("\u{FC}…"))
        #expect(found[1...] == ["spaced", nil, "\u{E9}"])
    }

    // MARK: AIFF

    private static func marker(_ id: Int16, _ frame: Int, _ name: String) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(big: UInt16(bitPattern: id))
        let text = joined([UInt8(name.utf8.count)], Array(name.utf8))
        return joined(bytes, big([frame]), text, text.count.isMultiple(of: 2) ? [] : [0])
    }

    private static func aiff(markers: [UInt8], count: UInt16, loops: [UInt16]) throws -> [UInt8] {
        var content: [UInt8] = []
        content.append(big: count)
        content += markers
        var instrument: [UInt8] = [60, 0, 0, 127, 1, 127, 0, 0]
        for number in loops { instrument.append(big: number) }
        var bytes = try AIFFFile.bytes(sound)
        let (marksSize, loopsSize) = (big([content.count]), big([instrument.count]))
        let chunks = joined(name("MARK"), marksSize, content, name("INST"), loopsSize, instrument)
        bytes.insert(contentsOf: chunks, at: 12)
        bytes.replaceSubrange(4..<8, with: big([bytes.count - 8]))
        return bytes
    }

    @Test func markersAndLoopsOfAIFFAreFound() throws {
        let markers = joined(
            Self.marker(1, 100, "One"),
            Self.marker(2, 900, "Loops"),
            Self.marker(-3, 16_000, ""),
            Self.marker(4, 70_000, "too late")
        )
        let bytes = try Self.aiff(markers: markers, count: 4, loops: [1, 1, 2, 2, 2, 0xFFFD])
        let report = try report(bytes, "a.aiff")
        let expected = [
            SourcePoint(.cue, at: 100, text: "One"), SourcePoint(.loop, at: 100, frames: 800, text: "sustain, forward"),
            SourcePoint(.cue, at: 900, text: "Loops"),
            SourcePoint(.loop, at: 900, frames: 15_100, text: "release, alternating"), SourcePoint(.cue, at: 16_000),
        ]
        #expect(Self.stated(report) == expected)
        #expect(report.outside == 1)
    }

    /// Markers are how AIFF states loops. A loop that is not played needs none.
    @Test(arguments: [true, false]) func endsOfLoopsAreNoChapters(isPlayed: Bool) throws {
        let names = ["One", "Two", "Three", "Four"]
        let markers = names.indices.flatMap { Self.marker(Int16($0 + 1), 100 * ($0 + 1), names[$0]) }
        let bytes = try Self.aiff(markers: markers, count: 4, loops: [isPlayed ? 1 : 0, 2, 3, 0, 0, 0])
        let path = folder.path("a.aiff")
        try Bytes.write(bytes, to: path)
        let input = try OpenFile.reading(path)
        let found = try Reader(descriptor: input.descriptor, options: .init(nameHint: path)).description.chapters
        #expect(found.map(\.title) == (isPlayed ? ["One", "Four"] : names))
    }

    @Test func hostileMarkersOfAIFFGiveNothingImpossible() throws {
        let markers = joined(Self.marker(1, 100, "One"), Self.marker(1, 200, "Two"))
        // A count that is too large, and a loop that ends before it begins, or at no marker.
        for loops: [UInt16] in [[1, 1, 1, 2, 1, 9], [3, 1, 1, 0, 1, 1]] {
            let bytes = try Self.aiff(markers: markers, count: 0xFFFF, loops: loops)
            let found = Self.stated(try report(bytes, "a.aiff"))
            #expect(
                found.prefix(2) == [SourcePoint(.cue, at: 100, text: "One"), SourcePoint(.cue, at: 200, text: "Two")]
            )
            #expect(found.allSatisfy { $0.kind == .cue })
        }
    }

    // MARK: CAF

    private static func caf(_ chunks: [(String, [UInt8])]) -> [UInt8] {
        var shape: [UInt8] = []
        shape.append(big: Double(rate).bitPattern)
        shape += name("lpcm")
        shape += big([0, sound.bytesPerFrame, 1, sound.channels, sound.bits])
        let data = joined([0, 0, 0, 0], Bytes.swapped(sound.bytes, width: 2))
        var bytes = joined(name("caff"), [0, 1, 0, 0])
        let head: [(String, [UInt8])] = [("desc", shape)]
        for (name, content) in head + chunks + [("data", data)] {
            bytes += Array(name.utf8)
            bytes.append(big: Int64(content.count))
            bytes += content
        }
        return bytes
    }

    private static func mark(_ frame: Double, _ id: Int, _ type: [UInt8] = [0, 0, 0, 0]) -> [UInt8] {
        var bytes = type
        bytes.append(big: frame.bitPattern)
        return joined(bytes, big([id]), [UInt8](repeating: 0xFF, count: 8), big([0]))
    }

    private static func strings(_ strings: [(id: Int, text: String)]) -> [UInt8] {
        var (heads, texts): ([UInt8], [UInt8]) = (big([strings.count]), [])
        for (id, text) in strings {
            heads += big([id])
            heads.append(big: Int64(texts.count))
            texts += Array(text.utf8) + [0]
        }
        return heads + texts
    }

    @Test func markersAndRegionsOfCAFAreFound() throws {
        let start = name("rbeg")
        let marks = joined(
            Self.big([0, 3]),
            Self.mark(100, 1),
            Self.mark(200.5, 0, name("slbg")),
            Self.mark(1e6, 1)
        )
        let around = joined(Self.big([7, 1, 2]), Self.mark(1_000, 0, start), Self.mark(3_000, 0))
        let part = joined(Self.big([8, 0, 2]), Self.mark(6_000, 0), Self.mark(5_000, 0, start))
        let regions = joined(Self.big([0, 2]), around, part)
        let names = Self.strings([(1, "One"), (7, "Around"), (8, "Part")])
        let bytes = Self.caf([("mark", marks), ("regn", regions), ("strg", names)])
        let report = try report(bytes, "a.caf")
        let expected = [
            SourcePoint(.cue, at: 100, text: "One"),
            SourcePoint(.cue, at: 201, text: "sustain loop start", isRounded: true),
            SourcePoint(.loop, at: 1_000, frames: 2_000, text: "Around"),
            SourcePoint(.region, at: 5_000, frames: 1_000, text: "Part"),
        ]
        #expect(Self.stated(report) == expected)
        #expect(report.outside == 1)
    }

    @Test func regionsThatAnInstrumentOfCAFNamesAreLoops() throws {
        let start = name("rbeg")
        func region(_ id: Int, _ flags: Int, _ frame: Int) -> [UInt8] {
            let marks = Self.mark(Double(frame), 0, start) + Self.mark(Double(frame + 500), 0)
            return joined(Self.big([id, flags, 2]), marks)
        }
        let loops = joined(region(1, 0, 1_000), region(2, 6, 2_000), region(3, 5, 3_000))
        let regions = joined(Self.big([0, 4]), loops, region(0, 0, 4_000))
        let instrument = Self.big([0, 0, 0, 0, 1, 2, 0])
        let names = Self.strings([(2, "Two"), (3, "Three")])
        let bytes = Self.caf([("inst", instrument), ("regn", regions), ("strg", names)])
        let expected = [
            SourcePoint(.loop, at: 1_000, frames: 500, text: "sustain"),
            SourcePoint(.loop, at: 2_000, frames: 500, text: "release, alternating, Two"),
            SourcePoint(.loop, at: 3_000, frames: 500, text: "backward, Three"),
            SourcePoint(.region, at: 4_000, frames: 500),
        ]
        #expect(Self.stated(try report(bytes, "a.caf")) == expected)
    }

    @Test func hostileMarkersOfCAFGiveNothingImpossible() throws {
        let frames: [Double] = [.nan, .infinity, -1, 1e300, 100]
        let items = frames.map { Self.mark($0, 1) }
        let marks = joined(Self.big([0, 0xFFFF_FFFF]), Array(items.joined()))
        let regions = joined(Self.big([0, 0xFFFF_FFFF, 7, 1, 0xFFFF_FFFF]), Self.mark(5, 0))
        var names = Self.big([0xFFFF_FFFF, 1])
        names.append(big: Int64.max)
        let bytes = Self.caf([("mark", marks), ("regn", regions), ("strg", names)])
        #expect(Self.stated(try report(bytes, "a.caf")) == [SourcePoint(.cue, at: 100)])
    }

    // MARK: FLAC and CUE sheets

    private static func flac(_ blocks: [(type: UInt8, content: [UInt8])]) -> [UInt8] {
        var file = FLACFile(rate: rate, channels: 2, bits: 16, frames: 4_096)
        let noise = Signal.noise(seed: 41, rate: rate, frames: 4_096, channels: 2, amplitude: 0.2)
        file.append(noise.integers(bits: 16), rate: rate, bits: 16)
        var bytes = file.bytes
        bytes[4] = 0
        var added: [UInt8] = []
        for (index, block) in blocks.enumerated() {
            added.append(block.type | (index == blocks.count - 1 ? 0x80 : 0))
            added += big([block.content.count])[1...]
            added += block.content
        }
        bytes.insert(contentsOf: added, at: 42)
        return bytes
    }

    private static func sheet(_ tracks: [(number: UInt8, start: Int64, indices: [(UInt8, Int64)])]) -> [UInt8] {
        var bytes = joined([UInt8](repeating: 0, count: 395), [UInt8(tracks.count)])
        for track in tracks {
            bytes.append(big: track.start)
            bytes += joined([track.number], [UInt8](repeating: 0, count: 26), [UInt8(track.indices.count)])
            for (number, offset) in track.indices {
                bytes.append(big: offset)
                bytes += [number, 0, 0, 0]
            }
        }
        return bytes
    }

    private static func comment(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        return little([0, 1, bytes.count]) + bytes
    }

    @Test func cueSheetOfFLACHasTracksAndIndices() throws {
        let sheet = Self.sheet([
            (1, 0, [(1, 0)]), (2, 1_000, [(0, 0), (1, 200), (2, 700)]), (170, 4_096, []),
        ])
        let report = try report(Self.flac([(5, sheet)]), "a.flac")
        let expected = [
            SourcePoint(.cueTrack, at: 0, text: "track 1"), SourcePoint(.cueIndex, at: 1_000, text: "track 2, index 0"),
            SourcePoint(.cueTrack, at: 1_200, text: "track 2"),
            SourcePoint(.cueIndex, at: 1_700, text: "track 2, index 2"),
        ]
        #expect(Self.stated(report) == expected)
    }

    @Test func hostileCueSheetOfFLACGivesNothingImpossible() throws {
        let sheet = Self.sheet([
            (1, .min, [(1, 0)]), (2, .max, [(1, .max)]), (3, 100, [(1, 5)]), (170, 4_096, []),
        ])
        let found = Self.stated(try report(Self.flac([(5, sheet)]), "a.flac"))
        #expect(found == [SourcePoint(.cueTrack, at: 105, text: "track 3")])
    }

    @Test func sheetInTagsReplacesTheSameTracksWithoutTitles() throws {
        let text = "TRACK 01 AUDIO\n TITLE \"First\"\n INDEX 01 00:00:00\nTRACK 02 AUDIO\n INDEX 01 00:00:15"
        let sheet = Self.sheet([(1, 0, [(1, 0)]), (3, 4_000, [(1, 0)]), (170, 4_096, [])])
        let file = Self.flac([(5, sheet), (4, Self.comment("CUESHEET=\(text)"))])
        let expected = [
            SourcePoint(.cueTrack, at: 0, text: "track 1: First"), SourcePoint(.cueTrack, at: 1_600, text: "track 2"),
            SourcePoint(.cueTrack, at: 4_000, text: "track 3"),
        ]
        #expect(Self.stated(try report(file, "a.flac")) == expected)
    }

    @Test func cueSheetCountsFramesOfSeventyFifths() {
        let text = """
            REM a comment\r
            TITLE "The album"\r
            FILE "a b.wav" WAVE\r
              TRACK 01 AUDIO\r
                PERFORMER "Some One"\r
                TITLE "A \u{E9} title"\r
                INDEX 01 00:00:00\r
              TRACK 02 AUDIO\r
                INDEX 00 01:02:03\r
                INDEX 01 01:02:74\r
            FILE "c.wav" WAVE\r
              TRACK 03 AUDIO\r
                INDEX 01 00:00:00\r
            """
        let seconds = 62 * 44_100
        let expected = [
            SourcePoint(.cueTrack, at: 0, text: "track 1: Some One - A \u{E9} title"),
            SourcePoint(.cueIndex, at: Int64(seconds + 3 * 588), text: "track 2, index 0"),
            SourcePoint(.cueTrack, at: Int64(seconds + 74 * 588), text: "track 2"),
        ]
        #expect(StatedPoints(cueSheet: text, rate: 44_100).points == expected)
        let rounded = StatedPoints(cueSheet: "TRACK 1\nINDEX 01 0:00:01", rate: 8_000).points
        // 106.67 frames.
        #expect(rounded == [SourcePoint(.cueTrack, at: 107, text: "track 1", isRounded: true)])
    }

    @Test(arguments: [
        "INDEX 01", "INDEX 01 1:2", "INDEX 01 a:b:c", "INDEX 01 00:60:00", "INDEX 01 00:00:75", "INDEX x 00:00:00",
        "INDEX 01 9999999999:00:00", "INDEX 01 -1:00:00", "\"", "INDEX", "TRACK", "INDEX 01 ::",
    ]) func wrongLinesOfACueSheetAreLeftOut(line: String) {
        #expect(StatedPoints(cueSheet: "TRACK 01 AUDIO\n\(line)", rate: 44_100).points.isEmpty)
    }

    @Test func accentBehindAQuotationMarkEndsNoWord() {
        let text = "TRACK 01 AUDIO\nTITLE \"\u{301}A title\u{308}\"\nINDEX 01 00:00:00"
        let found = StatedPoints(cueSheet: text, rate: 44_100).points.first?.text
        #expect(found == "track 1: \u{301}A title\u{308}")
    }

    /// Points have the titles that chapters have.
    @Test func titlesKeepTheirQuotationMarks() {
        let text = "TRACK 01 AUDIO\nTITLE \"The 12\" mix\"\nINDEX 01 00:00:00"
        #expect(StatedPoints(cueSheet: text, rate: 44_100).points.first?.text == "track 1: The 12\" mix")
    }

    @Test func longCueSheetIsBounded() {
        let line = "INDEX 01 00:00:01\n"
        let stated = StatedPoints(cueSheet: "TRACK 1\n" + String(repeating: line, count: 100_000), rate: 44_100)
        #expect(stated.points.count == PointReport.mostOfKind)
    }
}
