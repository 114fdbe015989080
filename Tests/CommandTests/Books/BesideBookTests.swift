import Conversion
import Foundation
import TestSupport
import Testing

@testable import Command

/// Covers and lists of chapters beside the files of a book.
struct BesideBookTests {
    @Test func theCoverIsKnownByItsName() {
        let names = ["back.jpg", "Folder.JPG", "front.png", "cover.gif", "my cover.jpg", "cover"]
        #expect(BesideBook.pictures(among: names) == ["Folder.JPG", "front.png"])
        #expect(BesideBook.pictures(among: names + ["COVER.png"]).first == "COVER.png")
        #expect(BesideBook.pictures(among: ["cover.png", "cover.jpg"]).first == "cover.jpg")
        #expect(BesideBook.pictures(among: ["a.jpg"]) == [])
    }

    /// The header of a JPEG of 30 x 20 pixels.
    private func jpeg(frame marker: UInt8 = 0xC0, bits: UInt8 = 8) -> [UInt8] {
        let start: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 0, 0]
        let frame: [UInt8] = [0xFF, 0xFF, marker, 0, 17, bits, 0, 20, 0, 30]
        return start + frame + [UInt8](repeating: 0, count: 9)
    }

    /// What is called like a cover and is none would make the job fail.
    @Test func onlyAPictureIsACover() throws {
        let folder = try TemporaryFolder.create()
        try Bytes.write(Array("no picture".utf8), to: folder.path("cover.jpg"))
        let doubt = "\(folder.path("cover.jpg")) is neither a JPEG nor a PNG picture, and is left out"
        let none = BesideBook.cover(in: ["/no/such/folder", folder.path])
        #expect(none.path == nil && none.doubts == [doubt])
        // The next best one takes its place.
        try Bytes.write(jpeg(), to: folder.path("front.jpeg"))
        let other = BesideBook.cover(in: [folder.path])
        #expect(other.path == folder.path("front.jpeg") && other.doubts == [doubt])
        try Bytes.write(jpeg(), to: folder.path("cover.jpg"))
        let found = BesideBook.cover(in: ["/no/such/folder", folder.path])
        #expect(found == BesideBook.Cover(path: folder.path("cover.jpg")))
    }

    /// The first bytes alone say little.
    @Test func theHeaderOfACoverIsExamined() throws {
        let folder = try TemporaryFolder.create()
        let path = folder.path("cover.jpg")
        func png(width: UInt8) -> [UInt8] {
            let head: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13]
            let sides: [UInt8] = [0, 0, 0, width, 0, 0, 0, 20]
            return head + Array("IHDR".utf8) + sides
        }
        let start: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0]
        let unusual = "is a JPEG of a kind that players do not show"
        let none = "is neither a JPEG nor a PNG picture"
        let cases: [(bytes: [UInt8], problem: String?)] = [
            (jpeg(), nil), (jpeg(frame: 0xC2), nil), (jpeg(frame: 0xC3), unusual), (jpeg(bits: 12), unusual),
            (png(width: 30), nil), (png(width: 0), "is a picture of 0 x 20 pixels"), (start, none), ([], none),
        ]
        for (bytes, problem) in cases {
            try Bytes.write(bytes, to: path)
            #expect(CoverFile.problem(path) == problem)
        }
        // Without bytes that would have to be read.
        try #require(truncate(path, 17 << 20) == 0)
        #expect(CoverFile.problem(path)?.hasSuffix(" and must have less than 16 MiB") == true)
        #expect(CoverFile.problem(folder.path("none.jpg"))?.hasPrefix("cannot be read: ") == true)
    }

    private func file(_ name: String, seconds: Int64?, isExact: Bool = true) -> Book.File {
        var facts = Book.Facts()
        facts.length = seconds.map { MediaTime(value: $0, timescale: 1) }
        facts.isExact = isExact
        return Book.File(place: name, name: name, facts: facts)
    }

    /// A book of three files, with a sheet of two tracks beside the second one; one more track is behind its end.
    private func book(_ folder: TemporaryFolder, first: Book.File) throws -> Book {
        let sheet = """
            FILE "2.mp3" MP3
              TRACK 01 AUDIO
                TITLE "Dawn"
                INDEX 01 00:00:00
              TRACK 02 AUDIO
                TITLE "Noon"
                INDEX 01 00:05:15
              TRACK 03 AUDIO
                TITLE "Behind the end"
                INDEX 01 00:20:00
            """
        try Bytes.write(Array(sheet.utf8), to: folder.path("2.cue"))
        let files = [first, file("2.mp3", seconds: 20), file("3.mp3", seconds: nil)]
        var book = Book(inOrder: files)
        book.takeMarks(gap: MediaTime(value: 1, timescale: 1)) { folder.path($0.name) }
        return book
    }

    @Test func sheetsBesideFilesTellTheChaptersOfTheWhole() throws {
        let folder = try TemporaryFolder.create()
        let found = try book(folder, first: file("1.mp3", seconds: 10))
        #expect(found.doubts == [])
        #expect(found.chapters.map(\.title) == ["1", "Dawn", "Noon", "3"])
        let starts = found.chapters.map(\.at.seconds)
        #expect(starts == [0, 11, 16.2, 32])
        #expect(found.files.chapters(marking: true).map { $0.length?.seconds } == [10, 5.2, 14.8, nil])
    }

    @Test func listsAreReadAsWell() throws {
        let folder = try TemporaryFolder.create()
        try Bytes.write(Array("0:00 Dawn\n0:05 Noon\n".utf8), to: folder.path("1.chapters.txt"))
        let other = try TemporaryFolder.create()
        #expect(BesideBook.hasLists(beside: [other.path("2.mp3"), folder.path("1.mp3")]))
        #expect(!BesideBook.hasLists(beside: [other.path("2.mp3")]))
        var book = Book(inOrder: [Book.File(place: "1.mp3", name: "1.mp3")])
        book.takeMarks { folder.path($0.name) }
        // Of one file, no length is needed.
        #expect(book.chapters.map(\.title) == ["Dawn", "Noon"] && book.doubts == [])
        try Bytes.write(Array("0:05 Noon\n0:00 Dawn\n".utf8), to: folder.path("1.chapters.txt"))
        book.takeMarks { folder.path($0.name) }
        #expect(book.doubts.first?.contains("1.chapters.txt: line 2: ") == true, "\(book.doubts)")
    }

    /// As the length of an MP3 without a header is.
    @Test func noChapterIsLostByAnEstimate() throws {
        let folder = try TemporaryFolder.create()
        try Bytes.write(Array("0:00 Dawn\n0:05 Noon\n0:15 Night\n".utf8), to: folder.path("1.chapters.txt"))
        for (isExact, titles) in [(false, ["Dawn", "Noon", "Night"]), (true, ["Dawn", "Noon"])] {
            var book = Book(inOrder: [file("1.mp3", seconds: 10, isExact: isExact)])
            book.takeMarks { folder.path($0.name) }
            #expect(book.chapters.map(\.title) == titles && book.doubts == [])
            let lengths: [Double?] = book.files.chapters(marking: true).map { $0.length?.seconds }
            let expected: [Double?] = isExact ? [5, 5] : [5, 10, nil]
            #expect(lengths == expected)
        }
    }

    @Test func aSheetOfOtherFilesHidesNoList() throws {
        let folder = try TemporaryFolder.create()
        let sheet = ["2", "3"].map { "FILE \"\($0).wav\" WAVE\n  TRACK 0\($0) AUDIO\n    INDEX 01 00:00:00\n" }.joined()
        try Bytes.write(Array(sheet.utf8), to: folder.path("1.cue"))
        try Bytes.write(Array("0:00 Dawn\n0:05 Noon\n".utf8), to: folder.path("1.chapters.txt"))
        #expect(try BesideBook.marks(of: folder.path("1.mp3")).map(\.title) == ["Dawn", "Noon"])
    }

    /// The first chapter of the second file would be in the wrong place.
    @Test func noListIsUsedBehindAFileOfUncertainLength() throws {
        for first in [file("1.mp3", seconds: nil), file("1.mp3", seconds: 10, isExact: false)] {
            let folder = try TemporaryFolder.create()
            let found = try book(folder, first: first)
            #expect(found.chapters == [] && found.files.allSatisfy { $0.marks.isEmpty })
            let doubt = "lists of chapters beside the files are not used: the length of 1.mp3 is not known to the frame"
            #expect(found.doubts == [doubt])
        }
    }
}
