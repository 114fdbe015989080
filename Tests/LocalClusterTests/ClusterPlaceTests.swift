import Foundation
import Glibc
import TestSupport
import Testing

@testable import LocalCluster

/// The private cluster creates folders in places where other users can write too.
@Suite(.enabled(if: geteuid() == 0, "only root gives folders away"))
struct ClusterPlaceTests {
    /// A place whose sockets are in /tmp, because its own path is too long for a socket.
    private func place(_ folder: TemporaryFolder) throws -> ClusterPlace {
        let home = folder.path(String(repeating: "long", count: 30))
        let place = try ClusterPlace(environment: ["XDG_DATA_HOME": home])
        #expect(place.sockets.hasPrefix("/tmp/sluice-0-"))
        return place
    }

    private func owner(_ path: String) throws -> uid_t {
        var facts = stat()
        guard lstat(path, &facts) == 0 else { throw SupportError("look at \(path)", errno: errno) }
        return facts.st_uid
    }

    @Test func aLinkInTheSocketsPlaceGivesNothingAway() throws {
        let folder = try TemporaryFolder.create()
        let place = try place(folder)
        let victim = folder.path("victim")
        try FileManager.default.createDirectory(atPath: victim, withIntermediateDirectories: false)
        #expect(chmod(victim, 0o700) == 0)
        try FileManager.default.createSymbolicLink(atPath: place.sockets, withDestinationPath: victim)
        defer { unlink(place.sockets) }
        #expect(throws: ClusterError.self) { try place.prepare() }
        #expect(try owner(victim) == 0)
    }

    @Test(arguments: [mode_t(0o700), 0o777])
    func aFolderOfAnotherUserIsNotTaken(mode: mode_t) throws {
        let folder = try TemporaryFolder.create()
        let place = try place(folder)
        #expect(mkdir(place.sockets, 0o700) == 0)
        defer { rmdir(place.sockets) }
        #expect(chmod(place.sockets, mode) == 0 && chown(place.sockets, mode == 0o700 ? 12_345 : 0, 0) == 0)
        #expect(throws: ClusterError.self) { try place.prepare() }
        #expect(try owner(place.sockets) == (mode == 0o700 ? 12_345 : 0))
    }

    @Test func whatIsFreeIsGivenToTheServersAccountAndStaysItsOwn() throws {
        let folder = try TemporaryFolder.create()
        let place = try place(folder)
        defer { rmdir(place.sockets) }
        for _ in 0..<2 {
            try place.prepare()
            #expect(try owner(place.sockets) == place.account?.user)
            #expect(try owner(place.serverLogs) == place.account?.user)
        }
    }
}
