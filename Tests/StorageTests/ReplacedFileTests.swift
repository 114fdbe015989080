import Conversion
import Glibc
import System
import TestSupport
import Testing

@testable import Storage

/// What an output keeps of the file that it replaces, on a real file system.
struct ReplacedFileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private func facts(_ name: String) throws -> FileFacts {
        try #require(FileFacts.of(folder.path(name), followingLinks: false))
    }

    private func mode(_ name: String) throws -> UInt32 { try facts(name).mode & 0o777 }

    /// Calls `body` with a descriptor of the file.
    private func opened<Result>(_ name: String, _ body: (Int32) throws -> Result) throws -> Result {
        let descriptor = open(folder.path(name), O_RDONLY)
        defer { close(descriptor) }
        try #require(descriptor >= 0)
        return try body(descriptor)
    }

    private func known(_ name: String) throws -> ReplacedFile {
        let file = try opened(name) { ReplacedFile($0) }
        return try #require(file)
    }

    private func attribute(_ attribute: String, of name: String) throws -> [UInt8]? {
        try opened(name) { SystemCall.attribute(attribute, of: $0) }
    }

    /// An access list in the form of the kernel. The user 12,345 may read and write.
    private var accessList: [UInt8] { AccessList.bytes(owner: 6, user: 6, group: 0) }

    private func set(_ name: String, of file: String, to value: [UInt8]) throws {
        let descriptor = open(folder.path(file), O_RDWR)
        defer { close(descriptor) }
        try #require(SystemCall.setAttribute(name, of: descriptor, to: value) == 0)
    }

    /// Puts a new file in the place of `name`, and returns what it lacks.
    private func replace(_ name: String, isHidden: Bool) throws -> [String] {
        let replaced = try known(name)
        switch try OutputFile.prepare(
            at: folder.path(name),
            onConflict: .replace,
            mode: .ofReplaced(replaced),
            mustBeHidden: isHidden
        ) {
        case .skipped:
            Issue.record("skipped")
            return []
        case .ready(let file):
            let lacking = replaced.lacking(in: file.descriptor)
            #expect(try file.publish() == .published)
            return lacking
        }
    }

    private static let access = "system.posix_acl_access"

    @Test(arguments: [false, true]) func attributesAndAccessListStay(isHidden: Bool) throws {
        try Bytes.write([1], to: folder.path("a"))
        try #require(chmod(folder.path("a"), 0o600) == 0)
        try set("user.rating", of: "a", to: [5])
        try set(Self.access, of: "a", to: accessList)
        let (before, old) = (try facts("a").identity, try known("a"))
        #expect(try mode("a") == 0o660, "the bits of the group are the mask of the list")
        #expect(try replace("a", isHidden: isHidden) == [])
        #expect(try facts("a").identity != before && mode("a") == 0o660)
        #expect(try attribute("user.rating", of: "a") == [5])
        #expect(try attribute(Self.access, of: "a") == accessList)
        #expect(try known("a") == old)
    }

    /// A file that may not be written takes no attributes.
    @Test func attributesOfReadOnlyFilesStay() throws {
        try Bytes.write([1], to: folder.path("a"))
        try set("user.rating", of: "a", to: [5])
        try #require(chmod(folder.path("a"), 0o444) == 0)
        #expect(try replace("a", isHidden: false) == [])
        #expect(try mode("a") == 0o444)
        #expect(try attribute("user.rating", of: "a") == [5])
    }

    /// It would let others read what they could not.
    @Test(arguments: [false, true]) func newFilesHaveNoAccessListOfTheFolder(isHidden: Bool) throws {
        try Bytes.write([1], to: folder.path("a"))
        try #require(chmod(folder.path("a"), 0o660) == 0)
        let above = open(folder.path, O_RDONLY | O_DIRECTORY)
        defer { close(above) }
        try #require(SystemCall.setAttribute("system.posix_acl_default", of: above, to: accessList) == 0)
        #expect(try replace("a", isHidden: isHidden) == [])
        #expect(try attribute(Self.access, of: "a") == nil)
        #expect(try mode("a") == 0o660)
    }

    /// It states the fingerprint of the old contents.
    @Test func marksOfJobsDoNotStay() throws {
        try Bytes.write([1], to: folder.path("a"))
        try set(OutputMark.name, of: "a", to: [1])
        #expect(try replace("a", isHidden: false) == [])
        #expect(try attribute(OutputMark.name, of: "a") == nil)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a file away")) func whatIsMissingIsNamed() throws {
        for name in ["a", "b"] { try Bytes.write([1], to: folder.path(name)) }
        try set("user.rating", of: "a", to: [5])
        try set("user.checked", of: "a", to: [6])
        try set("user.rating", of: "b", to: [4])
        try set(Self.access, of: "a", to: accessList)
        try #require(chown(folder.path("a"), 12_345, 12_345) == 0)
        let replaced = try known("a")
        let wanted: [String] = [
            "its owner", "its group", "its access list", "the attribute user.checked", "the attribute user.rating",
        ]
        let lacking = try opened("b") { replaced.lacking(in: $0) }
        #expect(lacking == wanted)
        #expect(try replace("a", isHidden: false) == [], "root can give the new file away, too")
    }

    /// The bits of the group are the most that the entries of the list grant. Without the list, they would grant that to all
    /// of the group.
    @Test func groupGetsNothingWithoutTheAccessList() throws {
        try Bytes.write([1], to: folder.path("a"))
        try set(Self.access, of: "a", to: accessList)
        let replaced = try known("a")
        var created = replaced.permissions
        #expect(OutputMode.ofReplaced(replaced).permissions(created, folder: nil) == 0o600)
        created = FilePermissions(mode: 0o600, group: created.group + 1)
        #expect(OutputMode.ofReplaced(replaced).permissions(created, folder: nil) == 0o600)
    }

    @Test func readOnlyFilesAreRefused() throws {
        try Bytes.write([1], to: folder.path("a"))
        try #require(chmod(folder.path("a"), 0o444) == 0)
        let replaced = try known("a")
        let error = #expect(throws: StorageError.self) { try replaced.refuseReadOnly(folder.path("a")) }
        #expect(error?.code == .permissionDenied)
        try #require(chmod(folder.path("a"), 0o644) == 0)
        try known("a").refuseReadOnly(folder.path("a"))
    }
}
