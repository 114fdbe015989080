import Conversion
import Foundation
import Storage
import TestSupport
import Testing

struct SourceFileTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private func refusal(_ path: String, allowing allowed: Set<FileKind> = [.file]) -> StorageError? {
        do {
            _ = try SourceFile.open(path, allowing: allowed)
            return nil
        } catch {
            return error
        }
    }

    @Test func fileIsOpenedWithItsFacts() throws {
        try Bytes.write(Array("sound".utf8), to: folder.path("a"))
        try #require(symlink("a", folder.path("link")) == 0)
        try Bytes.write(Array("sound".utf8), to: folder.path("b"))
        let direct = try SourceFile.open(folder.path("a"))
        let linked = try SourceFile.open(folder.path("link"))
        let other = try SourceFile.open(folder.path("b"))
        #expect(direct.byteCount == 5 && direct.kind == .file)
        #expect(direct.identity == linked.identity)
        #expect(direct.identity != other.identity)
        #expect(fcntl(direct.descriptor, F_GETFD) & FD_CLOEXEC == FD_CLOEXEC)
        #expect(fcntl(direct.descriptor, F_GETFL) & O_ACCMODE == O_RDONLY)
    }

    @Test func whatCannotBeASourceIsNamed() throws {
        #expect(refusal(folder.path("none"))?.code == .sourceNotFound)
        #expect(refusal("")?.code == .invalidPath)
        #expect(refusal("a\0b")?.code == .invalidPath)
        #expect(refusal(folder.path)?.code == .notAFile)
        #expect(refusal(folder.path, allowing: Set(FileKind.allCases))?.code == .notAFile)
        try #require(symlink("circle", folder.path("circle")) == 0)
        #expect(refusal(folder.path("circle"))?.code == .invalidPath)
        try Bytes.write([], to: folder.path("file"))
        #expect(refusal(folder.path("file/below"))?.code == .sourceNotFound)
    }

    @Test func pipesAndDevicesAreTheCallersToAllow() throws {
        // The FIFO has no writer, so opening it for reading would block for ever.
        try #require(mkfifo(folder.path("pipe"), 0o600) == 0)
        #expect(refusal(folder.path("pipe"))?.code == .notAFile)
        #expect(refusal("/dev/zero")?.code == .notAFile)
        #expect(refusal("/dev/zero", allowing: [.file, .characterDevice]) == nil)

        let writer = try OpenFile.changing(folder.path("pipe"))
        _ = write(writer.descriptor, "abc", 3)
        let source = try SourceFile.open(folder.path("pipe"), allowing: [.pipe])
        #expect(source.kind == .pipe)
        var bytes = [UInt8](repeating: 0, count: 8)
        #expect(read(source.descriptor, &bytes, 8) == 3)
    }

    @Test func standardInputIsACopy() throws {
        let number = try SourceFile.standardInput().descriptor
        #expect(number > 2)
        #expect(fcntl(STDIN_FILENO, F_GETFD) >= 0)
    }
}

struct StorageErrorTests {
    @Test(arguments: FailureSection.places.entries.map(\.code))
    func everyCodeBecomesAFailureWithItsReason(code: FailureCode) {
        let error = StorageError(code, at: .publish, "write to", "it is odd", place: "a/b", errnoName: "EODD")
        let failure = error.failure
        #expect(failure.code == code.rawValue)
        #expect(failure.stage == "publish")
        #expect(failure.message == "cannot write to a/b: it is odd [EODD]")
        #expect(failure.hint == error.hint)
        #expect("\(error)" == "\(code.rawValue): cannot write to a/b: it is odd [EODD]")
    }

    @Test func lostFileSystemSpendsNoAttemptAndFullDiskDoes() {
        #expect(FailureCode.storageUnavailable.kind == .infrastructure)
        #expect(FailureCode.diskFull.kind == .transient)
        #expect(FailureCode.destinationExists.kind == .permanent)
    }
}
