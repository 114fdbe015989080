import Foundation
import TestSupport
import Testing

@testable import Command

/// Which files `sluice join FOLDER` finds.
struct JoinedFolderTests {
    @Test func outputsInTheFolderAreNoParts() throws {
        let folder = try TemporaryFolder.create()
        for name in ["1.mp3", "all.m4b", "small.opus"] { try Bytes.write([0], to: folder.path(name)) }
        let outputs = ["all.m4b", "small.opus"].map { folder.path($0) }
        let found = try #require(try JoinedFolder(folder.path, besides: outputs))
        #expect(found.files.map(\.name) == ["1.mp3"])
    }

    @Test func linksThatAreNotFollowedAreDoubts() throws {
        let folder = try TemporaryFolder.create()
        let files = FileManager.default
        try files.createDirectory(atPath: folder.path("other"), withIntermediateDirectories: true)
        try files.createDirectory(atPath: folder.path("book/CD 1"), withIntermediateDirectories: true)
        for name in ["other/1.mp3", "book/CD 1/1.mp3"] { try Bytes.write([0], to: folder.path(name)) }
        for (link, target) in [
            ("book/CD 2", "other"), ("book/CD 1/2.mp3", "other/1.mp3"), ("book/CD 1/3.mp3", "other/none.mp3"),
            ("book/notes.txt", "other/none.txt"),
        ] {
            try files.createSymbolicLink(atPath: folder.path(link), withDestinationPath: folder.path(target))
        }
        let book = folder.path("book")
        let found = try #require(try JoinedFolder(book + "/", besides: ["out.m4b"]))
        #expect(found.files.map(\.name) == ["CD 1/1.mp3", "CD 1/2.mp3"])
        let doubts: [String] = [
            "\(book): CD 1/3.mp3 is a link to a file that is not there, and is left out",
            "\(book): CD 2 is a link to a folder, and is left out",
        ]
        #expect(found.doubts == doubts, "\(found.doubts)")
    }

    /// A file that is heard twice is probably a mistake; a folder that leads to itself is not entered.
    @Test func filesWithSeveralNamesAreDoubts() throws {
        let folder = try TemporaryFolder.create()
        let files = FileManager.default
        for name in ["1.mp3", "3.mp3"] { try Bytes.write([0], to: folder.path(name)) }
        try files.createSymbolicLink(atPath: folder.path("2.mp3"), withDestinationPath: "1.mp3")
        try files.createSymbolicLink(atPath: folder.path("CD 1"), withDestinationPath: ".")
        try files.createSymbolicLink(atPath: folder.path("4.mp3"), withDestinationPath: "4.mp3")
        let found = try #require(try JoinedFolder(folder.path, besides: []))
        #expect(found.files.map(\.name) == ["1.mp3", "2.mp3", "3.mp3"] && found.doubts.count == 2)
        var book = Book(found.files, in: "b", order: .names)
        book.doubtRepeatedFiles(in: "b") { $0.place }
        #expect(book.doubts == ["b: 2.mp3 is the same file as 1.mp3, and both are heard"])
    }

    @Test func everyNameOfARepeatedFileIsListedUpToABound() throws {
        let folder = try TemporaryFolder.create()
        try Bytes.write([0], to: folder.path("01.mp3"))
        func doubts(_ count: Int) throws -> [String] {
            for number in 2...count {
                let path = folder.path(number < 10 ? "0\(number).mp3" : "\(number).mp3")
                guard !FileManager.default.fileExists(atPath: path) else { continue }
                try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "01.mp3")
            }
            var book = Book(try #require(try JoinedFolder(folder.path, besides: [])).files, in: "b", order: .names)
            book.doubtRepeatedFiles(in: "b") { $0.place }
            return book.doubts
        }
        let rest = "are the same file as 01.mp3, and all are heard"
        #expect(try doubts(3) == ["b: 02.mp3 and 03.mp3 \(rest)"])
        let names = (2...9).map { "0\($0).mp3" }.joined(separator: ", ")
        #expect(try doubts(12) == ["b: \(names) and 3 more \(rest)"])
    }

    @Test func aFolderWithoutSoundIsRefused() throws {
        let folder = try TemporaryFolder.create()
        let refusal = try #require(throws: Refusal.self) { try JoinedFolder(folder.path, besides: []) }
        #expect(refusal.message == "\(folder.path) has no audio files")
        try Bytes.write([0], to: folder.path("1.mp3"))
        let found = try #require(try JoinedFolder(folder.path, besides: []))
        #expect(Book(found.files, in: "b", order: .names).doubts == [])
    }
}
