import Conversion
import Foundation
import Glibc
import System
import TestSupport
import Testing

@testable import Storage

/// Who may use the outputs below a root, and the folders that are created for them, on a real file system.
struct OutputAccessTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private func publish(_ name: String, _ rules: RootRules = RootRules(), isHidden: Bool = false) throws {
        let root = try StorageRoot.open(name: "root", path: folder.path, rules: rules)
        switch try root.prepareOutput(at: Location("root:\(name)"), onConflict: .fail, mustBeHidden: isHidden) {
        case .skipped: Issue.record("skipped")
        case .ready(let output): #expect(try output.publish() == .published)
        }
    }

    private func facts(_ name: String) throws -> FileFacts {
        try #require(FileFacts.of(folder.path(name), followingLinks: false))
    }

    private func mode(_ name: String) throws -> UInt32 { try facts(name).mode & 0o7777 }

    @Test(
        arguments: [(0o2775, 0o664, 0o2775), (0o755, 0o644, 0o755), (0o700, 0o600, 0o700), (0o1777, 0o664, 0o775)]
            as [(UInt32, UInt32, UInt32)],
        [false, true]
    )
    func outputsAndNewFoldersFollowTheFolderAbove(
        _ modes: (above: UInt32, file: UInt32, folder: UInt32),
        isHidden: Bool
    )
        throws
    {
        try #require(chmod(folder.path, modes.above) == 0)
        try publish("a.flac", isHidden: isHidden)
        try publish("new/below/a.flac", isHidden: isHidden)
        #expect(try mode("a.flac") == modes.file)
        #expect(try mode("new") == modes.folder && mode("new/below") == modes.folder)
        #expect(try mode("new/below/a.flac") == modes.file)
    }

    @Test func rulesOfTheRootGoFirst() throws {
        try #require(chmod(folder.path, 0o755) == 0)
        try publish("new/a.flac", try #require(RootRules("mode=640")))
        #expect(try mode("new/a.flac") == 0o640)
        #expect(try mode("new") == 0o750)
    }

    /// A default access list with an entry for another user: the kernel gives it to what is created in the folder.
    @Test(arguments: [false, true])
    func defaultAccessListDecides(isHidden: Bool) throws {
        let list = AccessList.bytes(owner: 7, user: 5, group: 5)
        let opened = open(folder.path, O_RDONLY | O_DIRECTORY)
        defer { close(opened) }
        try #require(SystemCall.setAttribute("system.posix_acl_default", of: opened, to: list) == 0)
        try #require(chmod(folder.path, 0o777) == 0)
        try publish("new/a.flac", isHidden: isHidden)
        #expect(try mode("new") == 0o750, "its group bits are the mask of the list")
        #expect(try mode("new/a.flac") == 0o640)
        let file = open(folder.path("new/a.flac"), O_RDONLY)
        defer { close(file) }
        #expect(SystemCall.hasAccessList(file), "the other user may read it")
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give files to any group"))
    func groupOfTheRootOwnsOutputsAndNewFolders() throws {
        try publish("new/a.flac", try #require(RootRules("group=12345")))
        #expect(try facts("new").group == 12_345 && facts("new/a.flac").group == 12_345)
        try #require(chmod(folder.path, 0o2775) == 0)
        try publish("other/b.flac", try #require(RootRules("group=daemon,mode=660")))
        #expect(try facts("other/b.flac").group == SystemCall.groupNumber(of: "daemon"))
        #expect(try mode("other") == 0o2770 && mode("other/b.flac") == 0o660)
    }

    @Test func groupThatDoesNotExistIsRefusedWhenTheRootIsOpened() throws {
        let error = try #require(throws: StorageError.self) {
            _ = try StorageRoot.open(
                name: "root",
                path: folder.path,
                rules: try #require(RootRules("group=no-such-group"))
            )
        }
        #expect(error.code == .permissionDenied && error.detail.contains("no such group"))
    }
}
