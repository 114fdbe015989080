import Conversion
import TestSupport
import Testing

@testable import Media

/// Fifteen common tags, several values, pictures and chapters from every container into every other one, and out of that
/// into FLAC, where metaflac reads them.
@Suite struct TagMatrixTests {
    /// Names of files, whose extensions name the formats.
    private static let names: [String] = [
        "a.flac", "a.mp3", "a.m4b", "a.ogg", "a.opus", "a.wv", "a.aiff", "a.wav", "a.mka", "a.caf",
    ]

    private static let single: [String] = [
        "TITLE=Žluťoučký", "ALBUM=Album", "ALBUMARTIST=All", "COMPOSER=J. S. Bach", "DATE=1999-12-31", "TRACKNUMBER=3",
        "TRACKTOTAL=12", "DISCNUMBER=1", "DISCTOTAL=2", "COMMENT=words", "COPYRIGHT=© 2026", "LYRICS=La la",
        "ISRC=DEA061200001", "BPM=120", "COMPILATION=1",
    ]
    private static let several: [String] = ["ARTIST=One", "ARTIST=Two", "GENRE=Jazz", "GENRE=Rock", "OWN=a", "OWN=b"]
    private static let chapters: [String] = [
        "CHAPTER000=00:00:00.000", "CHAPTER000NAME=One", "CHAPTER001=00:00:00.400", "CHAPTER001NAME=Two",
    ]

    /// A second of sound in FLAC with all of them, made once for all tests.
    private static let source: Result<String, any Error> = Result {
        let folder = try home.get()
        let (sound, path) = (folder.path("s.wav"), folder.path("source.flac"))
        try WAVFile.write(Signal.sweep(rate: 48_000, frames: 48_000).pcm(.s16), to: sound)
        let comments = (single + several + chapters).flatMap { ["-T", $0] }
        try Bytes.write(Covered.picture(.png), to: folder.path("a.png"))
        try Bytes.write(Covered.picture(.jpg), to: folder.path("b.jpg"))
        let pictures = ["--picture=" + folder.path("a.png"), "--picture=4||||" + folder.path("b.jpg")]
        try Run.program("flac", ["-s"] + comments + pictures + [sound, "-o", path]).checked()
        return path
    }

    private static let home = Result { try TemporaryFolder.create() }

    private func convert(_ source: String, to path: String) throws {
        let ext = String(path.split(separator: ".").last ?? "")
        let container = try #require(Container.allCases.first { $0.fileExtensions.contains(ext) })
        let format = AudioFormat(container: container, codec: ext == "opus" ? .opus : nil)
        try Converted.file(source, to: path, as: format)
    }

    @Test(arguments: names, names) func everythingSurvives(first: String, second: String) throws {
        let folder = try TemporaryFolder.create()
        let paths = [folder.path("1" + first), folder.path("2" + second), folder.path("3.flac")]
        var last = try Self.source.get()
        for path in paths {
            try convert(last, to: path)
            last = path
        }
        let run = try Run.program("metaflac", ["--export-tags-to=-", last]).checked()
        let found = run.outputText.split(separator: "\n").map(Self.comparable)
        let missing = Self.single.filter { !found.contains($0) }
        #expect(missing.isEmpty, "\(missing) in \(found)")
        let way = [first, second]
        let marks = found.filter { $0.hasPrefix("CHAPTER") }
        #expect(marks.sorted() == Self.chapters, "\(found)")
        // CAF has one text for each name, and no place for pictures.
        guard !way.contains("a.caf") else { return }
        let values = found.filter { Self.several.contains($0) }
        #expect(values.sorted() == Self.several.sorted(), "\(found)")
        let pictures = try Run.program("metaflac", ["--list", "--block-type=PICTURE", last]).checked().outputText
        let types = pictures.split(separator: "\n").filter { $0.contains("MIME type: ") }
        let kinds: [String] = types.map { String($0.suffix(4)) }
        #expect(kinds == ["/png", "jpeg"], "\(types)")
        // MP4 has no place for what a picture shows.
        let isBack = pictures.contains("type: 4 (Cover (back))")
        #expect(isBack || way.contains("a.m4b"), "\(pictures.prefix(2_000))")
    }

    /// Names of files tell what pictures show, where a container has no kinds.
    @Test func namesOfFilesTellTheKindsOfPictures() {
        for kind in 0...UInt8(20) {
            for number in [1, 5] {
                let name = PictureKind.fileName(kind, number: number) + ".jpg"
                // A first picture that says nothing is the cover that players look for.
                let known = kind == 0 && number == 1 ? PictureKind.frontCover : kind
                #expect(PictureKind.of([("filename", name)]) == known, "\(name)")
            }
        }
        #expect(PictureKind.fileName(3, number: 1) == "cover" && PictureKind.fileName(4, number: 2) == "back 2")
        #expect(PictureKind.fileName(255, number: 1) == "other")
        #expect(PictureKind.of([("filename", "IMG 20260101.JPG")]) == 3 && PictureKind.of([("filename", "")]) == 3)
        #expect(PictureKind.of([("FILENAME", "Lead Artist.png")]) == 7)
    }

    /// A comment with its name in capitals. libav writes the comment as a description.
    private static func comparable(_ comment: Substring) -> String {
        let name = comment.prefix { $0 != "=" }
        let capitals = name.uppercased()
        return (capitals == "DESCRIPTION" ? "COMMENT" : capitals) + comment.dropFirst(name.count)
    }
}
