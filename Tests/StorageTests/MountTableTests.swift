import Foundation
import TestSupport
import Testing

@testable import Storage

struct MountTableTests {
    private static let table = MountTable(
        """
        21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
        40 21 0:35 / /net rw,relatime - autofs systemd-1 rw
        41 40 0:36 / /net/host rw - nfs4 host:/export rw
        50 21 8:17 / /mnt/my\\040drive rw,relatime - ext4 /dev/disk/by-label/a\\134b rw
        51 50 0:50 / /mnt/my\\040drive rw - tmpfs above rw
        nonsense
        """
    )

    @Test func eachLineNamesAMount() {
        #expect(Self.table.mounts.map(\.id) == [21, 40, 41, 50, 51])
        #expect(Self.table.mount(of: "/srv/a")?.name == "ext4 of /dev/sda1")
        #expect(Self.table.mount(of: "/net/host/a")?.name == "nfs4 of host:/export")
        #expect(Self.table.mount(of: "/net/other")?.kind == "autofs")
        #expect(Self.table.mounts[3].name == "ext4 of /dev/disk/by-label/a\\b")
        #expect(Self.table.mount(of: "/mnt/my drive/a")?.name == "tmpfs of above", "the mount on top is visible")
        #expect(Self.table.mount(of: "/mnt/my drives")?.path == "/")
    }

    @Test func anOpenFileLiesOnAMountOfTheTable() throws {
        let file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        let id = try #require(MountTable.mountID(of: file))
        #expect(MountTable.read().mounts.first { $0.id == id }?.kind == "proc")
    }
}

struct RealPathTests {
    @Test func linksAreFollowedAlsoWhereTheyLeadNowhere() throws {
        let folder = try TemporaryFolder.create()
        let root = RealPath.of(folder.path)
        func link(_ name: String, _ target: String) throws {
            try FileManager.default.createSymbolicLink(atPath: folder.path(name), withDestinationPath: target)
        }
        try FileManager.default.createDirectory(atPath: folder.path("a"), withIntermediateDirectories: false)
        try link("a/up", "../gone/deep")
        try link("absolute", "/gone/there/")
        try link("twice", "a/up")
        try link("loop", "loop")
        #expect(RealPath.of(folder.path("a/up/x/../y")) == root + "/gone/deep/y")
        #expect(RealPath.of(folder.path("absolute/./x")) == "/gone/there/x")
        #expect(RealPath.of(folder.path("twice//z")) == root + "/gone/deep/z")
        #expect(RealPath.of(folder.path("loop/x")).hasSuffix("x"))
        #expect(RealPath.of("/../..") == "/")
    }
}
