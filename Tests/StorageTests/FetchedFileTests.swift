import Conversion
import Foundation
import TestSupport
import Testing

@testable import Storage

/// Files that another machine serves: whole or not at all, and never outside of the root.
struct FetchedFileTests {
    private let folder: TemporaryFolder
    private let root: StorageRoot
    private let bytes = Array("the sound of a talk".utf8)

    init() throws {
        folder = try TemporaryFolder.create()
        root = try StorageRoot.open(name: "here", path: folder.path)
    }

    private func open(
        _ path: String,
        _ content: [UInt8]? = nil,
        _ policy: Recipe.ConflictPolicy = .fail
    ) throws -> FetchedFile.Opening {
        let content = content ?? bytes
        let hash = try Fingerprint.of(content, in: folder)
        return try FetchedFile.open(for: Location("here:\(path)"), in: root, hash, onConflict: policy)
    }

    private func opened(
        _ path: String,
        _ content: [UInt8]? = nil,
        _ policy: Recipe.ConflictPolicy = .fail
    ) throws -> FetchedFile {
        guard case .opened(let file) = try open(path, content, policy) else { throw SupportError("open", path) }
        return file
    }

    private func write(_ part: Range<Int>, to file: FetchedFile) -> Bool {
        bytes[part].withUnsafeBytes { file.write($0) }
    }

    private func names(_ path: String = "") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path(path)).filter { $0 != "model" }.sorted()
    }

    @Test func appearsWhenItIsWhole() throws {
        let file = try opened("a/b/talk.flac")
        #expect(file.byteCount == 0 && file.begin(at: 0) && write(0..<5, to: file))
        #expect(!FileManager.default.fileExists(atPath: folder.path("a/b/talk.flac")))
        #expect(write(5..<bytes.count, to: file) && file.isWhole)
        #expect(try file.publish() == .published)
        #expect(try Bytes.read(folder.path("a/b/talk.flac")) == bytes)
        #expect(try names("a/b") == ["talk.flac"])
        guard case .present = try open("a/b/talk.flac") else { throw SupportError("open", "it is not present") }
    }

    @Test func goesOnWhereAnEarlierFetchEnded() throws {
        var first: FetchedFile? = try opened("talk.flac")
        #expect(first.map { write(0..<7, to: $0) } == true)
        first = nil
        let second = try opened("talk.flac")
        #expect(second.byteCount == 7 && !second.begin(at: 3) && second.begin(at: 7))
        #expect(write(7..<bytes.count, to: second))
        #expect(try second.publish() == .published)
        #expect(try names() == ["talk.flac"])
    }

    @Test func beginsAgainIfTheServerDoes() throws {
        let file = try opened("talk.flac")
        #expect(write(3..<9, to: file) && file.begin(at: 0) && file.byteCount == 0)
        #expect(write(0..<bytes.count, to: file))
        #expect(try file.publish() == .published)
    }

    @Test func otherBytesGetNoName() throws {
        let file = try opened("talk.flac")
        let other = [UInt8](repeating: 1, count: bytes.count)
        #expect(other.withUnsafeBytes { file.write($0) })
        #expect(try file.publish() == .wrongDigest)
        // Also while a thread still holds the file.
        file.leave()
        #expect(try names() == [])
        withExtendedLifetime(file) {}
    }

    @Test func moreBytesThanTheFileHasAreRefused() throws {
        let file = try opened("talk.flac")
        let other = [UInt8](repeating: 1, count: bytes.count + 1)
        #expect(!other.withUnsafeBytes { file.write($0) } && file.failure == nil)
    }

    @Test func otherFilesAreReplacedOnlyOnDemand() throws {
        try Bytes.write([1], to: folder.path("talk.flac"))
        #expect(throws: StorageError.self) { try open("talk.flac") }
        guard case .kept = try open("talk.flac", nil, .skip) else { throw SupportError("open", "it is not kept") }
        let file = try opened("talk.flac", nil, .replace)
        #expect(write(0..<bytes.count, to: file))
        #expect(try Bytes.read(folder.path("talk.flac")) == [1])
        #expect(try file.publish() == .published)
        #expect(try Bytes.read(folder.path("talk.flac")) == bytes)
    }

    @Test func aFileThatAppearsMeanwhileIsKept() throws {
        let file = try opened("talk.flac")
        #expect(write(0..<bytes.count, to: file))
        try Bytes.write([1], to: folder.path("talk.flac"))
        #expect(throws: StorageError.self) { try file.publish() }
        #expect(try Bytes.read(folder.path("talk.flac")) == [1])
    }

    @Test func twoDoNotFetchTheSame() throws {
        let first = try opened("talk.flac")
        #expect(throws: StorageError.self) { try open("talk.flac") }
        withExtendedLifetime(first) {}
    }

    @Test func linksLeadNowhere() throws {
        let outside = try TemporaryFolder.create()
        try #require(symlink(outside.path, folder.path("link")) == 0)
        #expect(throws: StorageError.self) { try open("link/talk.flac") }
        try #require(symlink(outside.path("talk.flac"), folder.path("talk.flac")) == 0)
        #expect(throws: StorageError.self) { try open("talk.flac") }
        #expect(throws: StorageError.self) { try open("talk.flac", nil, .replace) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: outside.path) == [])
    }
}

extension Fingerprint {
    /// That of a file with these bytes.
    fileprivate static func of(_ bytes: [UInt8], in folder: TemporaryFolder) throws -> Fingerprint {
        try Bytes.write(bytes, to: folder.path("model"))
        return try #require(try SourceFile.open(folder.path("model")).fingerprint())
    }
}
