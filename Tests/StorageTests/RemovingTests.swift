import Conversion
import Foundation
import Storage
import TestSupport
import Testing

/// Files that are removed when they are old.
struct RemovingTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    /// A file whose contents have changed so many seconds after 1970.
    private func write(_ path: String, at seconds: Int) throws {
        try Bytes.write(Array("sound".utf8), to: folder.path(path))
        let times = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0)]
        try #require(utimensat(AT_FDCWD, folder.path(path), times, 0) == 0)
    }

    private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: folder.path(path)) }

    @Test func oldFilesAreRemovedThatAreKnown() throws {
        for name in ["a", "a/b", "other"] { try #require(mkdir(folder.path(name), 0o755) == 0) }
        for name in ["a/old.wav", "a/b/old.wav", "a/old.txt", "other/old.wav", "a/.old.wav"] { try write(name, at: 99) }
        try write("a/new.wav", at: 100)
        try #require(symlink("../other", folder.path("a/link")) == 0)
        try #require(symlink("../other/old.wav", folder.path("a/old-link.wav")) == 0)
        try #require(mkfifo(folder.path("a/pipe.wav"), 0o600) == 0)
        let root = try StorageRoot.open(name: "root", path: folder.path)
        let removal = root.removeFiles(changedBefore: 100) { path in
            path.first == "a" && path.last?.hasSuffix(".wav") == true
        }
        #expect(removal.count == 2 && removal.failure == nil && removal.left.isEmpty)
        #expect(!exists("a/old.wav") && !exists("a/b/old.wav"))
        #expect(try folder.names() == ["a", "other"])
        for name in ["a/old.txt", "other/old.wav", "a/.old.wav", "a/new.wav", "a/old-link.wav", "a/pipe.wav"] {
            #expect(exists(name), "\(name)")
        }
        #expect(root.removeFiles(changedBefore: 100) { _ in false }.count == 0)
    }

    @Test func whatIsLeftOfTooManyFilesIsRemovedNextTime() throws {
        for name in ["a", "b", "c"] { try #require(mkdir(folder.path(name), 0o755) == 0) }
        let names = ["a", "b", "c"].flatMap { name in (1...5).map { "\(name)/\($0).wav" } }
        for name in names { try write(name, at: 99) }
        let root = try StorageRoot.open(name: "root", path: folder.path)
        var (left, counts): ([[String]], [Int]) = ([], [])
        repeat {
            let removal = root.removeFiles(changedBefore: 100, in: left, most: 6) { $0.count == 2 }
            #expect(removal.failure == nil)
            counts.append(removal.count)
            left = removal.left
        } while !left.isEmpty && counts.count < 10
        #expect(counts == [5, 5, 5] && names.allSatisfy { !exists($0) })
    }

    @Test(.enabled(if: geteuid() != 0, "root reads every folder"))
    func aFolderThatIsClosedIsLeftOut() throws {
        for name in ["a", "b"] { try #require(mkdir(folder.path(name), 0o755) == 0) }
        for name in ["a/old.wav", "b/old.wav"] { try write(name, at: 99) }
        try #require(chmod(folder.path("a"), 0) == 0)
        defer { chmod(folder.path("a"), 0o755) }
        let root = try StorageRoot.open(name: "root", path: folder.path)
        let removal = root.removeFiles(changedBefore: 100) { _ in true }
        #expect(removal.failure == nil && !exists("b/old.wav"))
    }

    @Test(.enabled(if: geteuid() != 0, "root removes every file"))
    func aFileThatCannotBeRemovedIsToldAfterTheOthers() throws {
        for name in ["a", "b", "c"] { try #require(mkdir(folder.path(name), 0o755) == 0) }
        for name in ["a/old.wav", "b/old.wav", "c/old.wav"] { try write(name, at: 99) }
        try #require(chmod(folder.path("b"), 0o555) == 0)
        defer { chmod(folder.path("b"), 0o755) }
        let root = try StorageRoot.open(name: "root", path: folder.path)
        let removal = root.removeFiles(changedBefore: 100) { $0.last == "old.wav" }
        #expect(removal.failure?.code == .permissionDenied && removal.count == 2)
        #expect(!exists("a/old.wav") && exists("b/old.wav") && !exists("c/old.wav"))
    }
}
