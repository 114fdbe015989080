import Conversion
import TestSupport
import Testing

@testable import Media

/// Tags of outputs have the names of the output's format, whatever the source calls them.
@Suite struct NativeTagsTests {
    // Testing has a type of this name, too.
    private typealias Tag = Media.Tag

    private func texts(_ tags: [Tag], _ format: TagFormat?) -> [String] {
        NativeTags(tags, in: format).texts.map { $0.name + "=" + $0.values.joined(separator: "|") }
    }

    // MARK: Names

    @Test func namesAreThoseOfTheFormat() {
        let tags = [
            Tag(key: "album_artist", value: "Various"), Tag(key: "ISRC", value: "X"), Tag(key: "My Field", value: "me"),
        ]
        #expect(texts(tags, .vorbis) == ["ALBUMARTIST=Various", "ISRC=X", "My Field=me"])
        #expect(texts(tags, .id3) == ["TPE2=Various", "TSRC=X", "TXXX:My Field=me"])
        #expect(texts(tags, .mp4) == ["aART=Various", "----:ISRC=X", "----:My Field=me"])
        #expect(texts(tags, .ape) == ["Album Artist=Various", "ISRC=X", "My Field=me"])
        #expect(texts(tags, .matroska) == ["ALBUM_ARTIST=Various", "ISRC=X", "My Field=me"])
        #expect(texts(tags, nil) == ["album_artist=Various", "ISRC=X", "My Field=me"])
    }

    /// The source's format decides what a name means: in ID3, libav calls the conductor a performer.
    @Test func nameOfTheSourceCounts() {
        let conductor = Tag(key: "performer", values: ["Somebody"], name: "conductor")
        #expect(texts([conductor], .vorbis) == ["CONDUCTOR=Somebody"])
        #expect(texts([Tag(key: "PERFORMER", value: "Somebody")], .vorbis) == ["PERFORMER=Somebody"])
    }

    /// As libav and people write them.
    @Test func smallLettersOfCommentsStay() {
        let tags = [Tag(key: "title", value: "A"), Tag(key: "Artist", value: "B"), Tag(key: "albumartist", value: "C")]
        #expect(texts(tags, .vorbis) == ["title=A", "ARTIST=B", "albumartist=C"])
        #expect(texts(tags, .ape) == ["Title=A", "Artist=B", "Album Artist=C"])
    }

    @Test func tagsWithOneNameBecomeOne() {
        let tags = [Tag(key: "lyrics-eng", value: "La"), Tag(key: "LYRICS", values: ["La", "Lo"])]
        #expect(texts(tags, .vorbis) == ["LYRICS=La|Lo"])
    }

    // MARK: Totals

    @Test(arguments: [TagFormat.id3, .mp4, .ape]) func numbersStateTheirTotals(format: TagFormat) throws {
        let name = try #require(TagTable.native(for: .common("tracknumber"), in: format))
        let apart = [Tag(key: "TRACKTOTAL", value: "12"), Tag(key: "TRACKNUMBER", value: "3")]
        #expect(texts(apart, format) == [name + "=3/12"])
        #expect(texts([Tag(key: "track", value: "3/12")], format) == [name + "=3/12"])
        #expect(texts([Tag(key: "track", value: "3/12"), apart[0]], format) == [name + "=3/12"])
        #expect(texts([apart[0]], format) == [name + "=/12"])
        #expect(texts([apart[1]], format) == [name + "=3"])
    }

    @Test func totalsStandApartInComments() {
        let tags = [Tag(key: "track", value: "3/12"), Tag(key: "disc", value: "1")]
        #expect(texts(tags, .vorbis) == ["TRACKNUMBER=3", "TRACKTOTAL=12", "DISCNUMBER=1"])
        let twice = [Tag(key: "track", value: "3/12"), Tag(key: "TRACKTOTAL", value: "12")]
        #expect(texts(twice, .vorbis) == ["TRACKNUMBER=3", "TRACKTOTAL=12"])
        #expect(texts(tags, .matroska) == ["PART_NUMBER=3", "TOTAL_PARTS=12", "DISC=1"])
    }

    /// Each number was compared with a new set of all others.
    @Test func manyNumbersCostNoMoreThanOtherValues() {
        let numbers = (0..<40_000).map { "\($0)" }
        let tag = Tag(key: "track", values: numbers, name: "tracknumber")
        let (texts, time) = ProcessorTime.measure { NativeTags([tag], in: .vorbis).texts }
        #expect(texts.map(\.values) == [numbers] && time < .seconds(10))
    }

    /// Sides of records have such numbers.
    @Test func numbersThatAreTextsStayWhole() {
        #expect(texts([Tag(key: "track", value: "A/B")], .vorbis) == ["TRACKNUMBER=A/B"])
    }

    // MARK: Through files

    /// Tags as each format names them arrive in FLAC under the names of comments, for metaflac.
    @Test(arguments: ["flac", "wv", "m4a", "mka", "caf"]) func tagsArriveUnderNamesOfComments(ext: String) throws {
        let folder = try TemporaryFolder.create()
        let (sound, first, path) = (folder.path("s.wav"), folder.path("a." + ext), folder.path("b.flac"))
        try WAVFile.write(Signal.sweep(rate: 44_100, frames: 4_410).pcm(.s16), to: sound)
        let tags: [String: Recipe.TagValues] = [
            "title": "Song", "artist": "One", "albumartist": "All", "tracknumber": "3/12", "isrc": "DEA061200001",
            "bpm": "120", "compilation": "1", "discnumber": "1/2", "conductor": "Baton", "My Field": "me",
        ]
        let container = try #require(Container.allCases.first { $0.fileExtensions.contains(ext) })
        try Converted.file(sound, to: first, as: AudioFormat(container: container), tags: tags)
        try Converted.file(first, to: path, as: AudioFormat(container: .flac))
        let run = try Run.program("metaflac", ["--export-tags-to=-", path]).checked()
        let found = Set(run.outputText.split(separator: "\n").map(Self.withCapitalName))
        let wanted = [
            "TITLE=Song", "ARTIST=One", "ALBUMARTIST=All", "TRACKNUMBER=3", "TRACKTOTAL=12", "ISRC=DEA061200001",
            "BPM=120", "COMPILATION=1", "DISCNUMBER=1", "DISCTOTAL=2", "CONDUCTOR=Baton",
        ]
        #expect(found.isSuperset(of: wanted), "\(found.sorted())")
        let own = ext == "mka" ? "MY_FIELD=me" : "MY FIELD=me"
        #expect(found.contains(own), "\(found.sorted())")
    }

    // MARK: Names that formats do not allow

    @Test func namesOfAPEAreShortPrintableASCII() {
        for name in ["Title", "a=b", "My Field", "~~", String(repeating: "x", count: 255)] {
            #expect(APETag.takes(name: name), "\(name)")
        }
        for name in ["", "x", "Größe", "a\tb", "Tag", "ID3", "OGGS", "mp+", String(repeating: "x", count: 256)] {
            #expect(!APETag.takes(name: name), "\(name)")
        }
    }

    /// libav stops reading an APE tag at such a name. In comments, the name would end at the sign.
    @Test(arguments: [(Container.wavpack, "Größe"), (.flac, "a=b"), (.ogg, "a=b")])
    func namesThatFormatsDoNotAllowAreTold(container: Container, name: String) throws {
        let folder = try TemporaryFolder.create()
        let (sound, path) = (folder.path("s.wav"), folder.path("a." + container.fileExtensions[0]))
        try WAVFile.write(Signal.sweep(rate: 44_100, frames: 4_410).pcm(.s16), to: sound)
        let tags: [String: Recipe.TagValues] = ["Alpha": "a", name: "x", "Zebra": "z"]
        let outcome = try Converted.file(sound, to: path, as: AudioFormat(container: container), tags: tags)
        #expect(outcome.summary.lostTags == [name])
        let told = outcome.remarks.filter { $0.kind == .tags }.map(\.detail)
        #expect(told == ["\(container.title) cannot store: \(name)"])
        let probe = try FFmpeg.probe(path)
        let found = probe.tags.merging(probe.audio.first?.tags ?? [:]) { $1 }
        let own = found.map { $0.key.lowercased() + "=" + $0.value }.filter { !$0.hasPrefix("encoder=") }
        #expect(own.sorted() == ["alpha=a", "zebra=z"])
    }

    /// Several values make several comments in the finished output, which must not look for what was not written.
    @Test func valuesOfSuchNamesAreToldToo() throws {
        let folder = try TemporaryFolder.create()
        let (sound, tagged, path) = (folder.path("s.wav"), folder.path("a.wv"), folder.path("b.flac"))
        try WAVFile.write(Signal.sweep(rate: 44_100, frames: 4_410).pcm(.s16), to: sound)
        try Converted.file(sound, to: tagged, as: AudioFormat(container: .wavpack))
        let tags = [Tag(key: "a=b", values: ["v", "w"]), Tag(key: "Artist", values: ["One", "Two"])]
        try Bytes.write(Bytes.read(tagged) + APETag.bytes(tags, pictures: []), to: tagged)
        let outcome = try Converted.file(tagged, to: path, as: AudioFormat(container: .flac), verifies: true)
        #expect(outcome.summary.lostTags == ["a=b"])
        let run = try Run.program("metaflac", ["--export-tags-to=-", path]).checked()
        let found = run.outputText.split(separator: "\n").map(Self.withCapitalName)
        #expect(found.filter { !$0.hasPrefix("ENCODER=") } == ["ARTIST=One", "ARTIST=Two"])
    }

    /// Other programs write them. libav shows nothing that stands behind them.
    @Test func tagsBehindANameThatAPEForbidsAreRead() throws {
        let folder = try TemporaryFolder.create()
        let (sound, path) = (folder.path("s.wav"), folder.path("a.wv"))
        try WAVFile.write(Signal.sweep(rate: 44_100, frames: 4_410).pcm(.s16), to: sound)
        try Converted.file(sound, to: path, as: AudioFormat(container: .wavpack))
        let wanted = ["Alpha": "a", "Größe": "x", "Title": "Song", "Zebra": "z"]
        let tags = wanted.sorted { $0.key < $1.key }.map { Tag(key: $0.key, value: $0.value) }
        try Bytes.write(Bytes.read(path) + APETag.bytes(tags, pictures: []), to: path)
        let file = try OpenFile.reading(path)
        let found = try Reader(descriptor: file.descriptor, options: .init(nameHint: path)).description.tags
        let own = found.filter { !$0.isTechnical }.map { "\($0.key.lowercased())=\($0.value)" }
        #expect(own.sorted() == ["alpha=a", "größe=x", "title=Song", "zebra=z"])
    }

    private static func withCapitalName(_ comment: Substring) -> String {
        let name = comment.prefix { $0 != "=" }
        return name.uppercased() + comment.dropFirst(name.count)
    }

    /// The item for it holds the name of a program in nearly all files, which is left out of others.
    @Test func encodedByArrivesThroughMP4() throws {
        let folder = try TemporaryFolder.create()
        let (sound, first, path) = (folder.path("s.wav"), folder.path("a.m4a"), folder.path("b.flac"))
        try WAVFile.write(Signal.sweep(rate: 44_100, frames: 4_410).pcm(.s16), to: sound)
        try Converted.file(sound, to: first, as: AudioFormat(container: .m4a), tags: ["encodedby": "Me"])
        try Converted.file(first, to: path, as: AudioFormat(container: .flac))
        let run = try Run.program("metaflac", ["--show-tag=ENCODEDBY", path]).checked()
        #expect(run.outputText == "ENCODEDBY=Me\n")
        #expect(texts([Tag(key: "encoded_by", value: "Me")], .mp4) == ["----:ENCODEDBY=Me"])
    }

    /// MP4 has an item for the number of movements, which libav does not read.
    @Test(arguments: ["m4a", "wav"]) func totalsOfMovementsSurvive(ext: String) throws {
        let folder = try TemporaryFolder.create()
        let (sound, first, path) = (folder.path("s.wav"), folder.path("a." + ext), folder.path("b.flac"))
        try WAVFile.write(Signal.sweep(rate: 44_100, frames: 4_410).pcm(.s16), to: sound)
        let tags: [String: Recipe.TagValues] = ["movementnumber": "2", "movementtotal": "4"]
        let container = try #require(Container.allCases.first { $0.fileExtensions.contains(ext) })
        try Converted.file(sound, to: first, as: AudioFormat(container: container), tags: tags)
        try Converted.file(first, to: path, as: AudioFormat(container: .flac))
        let run = try Run.program("metaflac", ["--export-tags-to=-", path]).checked()
        let found = Set(run.outputText.split(separator: "\n").map(Self.withCapitalName))
        #expect(found.isSuperset(of: ["MOVEMENT=2", "MOVEMENTTOTAL=4"]), "\(found.sorted())")
    }

    @Test func numbersOfMP4AreItemsOfNumbers() throws {
        let folder = try TemporaryFolder.create()
        let (sound, path) = (folder.path("s.wav"), folder.path("a.m4a"))
        try WAVFile.write(Signal.sweep(rate: 44_100, frames: 4_410).pcm(.s16), to: sound)
        try Converted.file(sound, to: path, as: AudioFormat(container: .m4a), tags: ["bpm": "120", "podcast": "1"])
        let bytes = try Bytes.read(path)
        func item(_ name: String, _ number: [UInt8]) -> [UInt8] {
            let data: [UInt8] = Array("data".utf8) + [0, 0, 0, 21, 0, 0, 0, 0] + number
            return Array(name.utf8) + [0, 0, 0, UInt8(data.count + 4)] + data
        }
        #expect(Bytes.find(item("tmpo", [0, 120]), in: bytes) != nil)
        #expect(Bytes.find(item("pcst", [1]), in: bytes) != nil)
        try Converted.file(sound, to: path, as: AudioFormat(container: .m4a), tags: ["bpm": "128.5"])
        #expect(try FFmpeg.probe(path).tags["BPM"] == "128.5")
    }
}
