import Conversion
import Foundation
import TestSupport
import Testing

@testable import Command

/// Covers and lists of chapters beside the files of a book.
struct BesideBookTests {
    @Test func theCoverIsKnownByItsName() {
        let names = ["back.jpg", "Folder.JPG", "front.png", "cover.gif", "my cover.jpg", "cover"]
        #expect(BesideBook.picture(among: names) == "Folder.JPG")
        #expect(BesideBook.picture(among: names + ["COVER.png"]) == "COVER.png")
        #expect(BesideBook.picture(among: ["cover.png", "cover.jpg"]) == "cover.jpg")
        #expect(BesideBook.picture(among: ["a.jpg"]) == nil)
    }

    /// What is called like a cover and is none would make the job fail.
    @Test func onlyAPictureIsACover() throws {
        let folder = try TemporaryFolder.create()
        try Bytes.write(Array("no picture".utf8), to: folder.path("cover.jpg"))
        #expect(BesideBook.picture(in: ["/no/such/folder", folder.path]) == nil)
        try Bytes.write([0xFF, 0xD8, 0xFF, 0xE0], to: folder.path("cover.jpg"))
        #expect(BesideBook.picture(in: ["/no/such/folder", folder.path]) == folder.path("cover.jpg"))
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
