import Foundation
import TestSupport
import Testing

/// The tests above rely on a server that leaves nothing behind.
struct PrivatePostgresTests {
    @Test func aServerEndsWithItsFolderWhenItIsReleased() throws {
        var server: PrivatePostgres? = try .start()
        let folder = try #require(server?.folder)
        let text = try String(contentsOfFile: folder + "/data/postmaster.pid", encoding: .utf8)
        let process = try #require(text.split(separator: "\n").first.flatMap { Int32($0) })
        #expect(kill(process, 0) == 0)
        server = nil
        #expect(kill(process, 0) != 0)
        #expect(!FileManager.default.fileExists(atPath: folder))
    }

    @Test func eachDatabaseIsItsOwn() throws {
        let server = try PrivatePostgres.shared()
        let names = [try server.createDatabase(), try server.createDatabase()]
        for name in names { try server.run("create table only_here ()", database: name) }
        #expect(Set(names).count == 2)
    }
}
