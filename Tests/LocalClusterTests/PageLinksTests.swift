import Foundation
import Glibc
import TestSupport
import Testing

@testable import LocalCluster

/// One-time links to the page of the private cluster.
struct PageLinksTests {
    private let folder: TemporaryFolder
    private let links: PageLinks

    init() throws {
        folder = try TemporaryFolder.create()
        links = PageLinks(folder: folder.path)
    }

    private func link() throws -> (link: PageLinks.Link, secret: String) {
        let link = try links.make(to: "http://127.0.0.1:8080")
        return (link, try #require(link.url.split(separator: "=").last.map(String.init)))
    }

    @Test func aLinkWorksOnce() throws {
        let (link, secret) = try link()
        #expect(link.url == "http://127.0.0.1:8080/login?link=\(secret)")
        #expect(secret.utf8.count == 64 && secret.allSatisfy(\.isHexDigit))
        #expect(try self.link().secret != secret)
        #expect(links.redeem(secret))
        #expect(!links.redeem(secret))
        #expect(!FileManager.default.fileExists(atPath: link.file))
    }

    @Test func aLinkEndsAfterSomeMinutes() throws {
        let now = time(nil)
        for (age, works) in [(-400, false), (0, true), (290, true), (400, false)] {
            let isValid = links.redeem(try link().secret, now: now + age)
            #expect(isValid == works, "\(age) s")
        }
        let old = try link().link.file
        let long = [timeval(tv_sec: now - 1_000, tv_usec: 0), timeval(tv_sec: now - 1_000, tv_usec: 0)]
        #expect(utimes(old, long) == 0)
        _ = try link()
        #expect(!FileManager.default.fileExists(atPath: old))
    }

    /// The arguments of a browser, which all users of the machine can read, name the file.
    @Test func theFileIsForItsUserAndItsNameTellsNothing() throws {
        let (link, secret) = try link()
        var facts = stat()
        #expect(lstat(link.file, &facts) == 0 && facts.st_mode & 0o777 == 0o600)
        #expect(!link.file.contains(secret))
        let page = try String(contentsOfFile: link.file, encoding: .utf8)
        #expect(page.contains("content=\"0;url=\(link.url)\"") && page.contains("content=\"no-referrer\""))
    }

    @Test func othersTextsAreNoLinks() throws {
        let (link, secret) = try link()
        let name = try #require(link.file.split(separator: "/").last)
        let others = ["", "x", String(name), String(name.dropLast(5)), "../\(name)", secret + "0"]
        for text in others + [String(secret.dropLast()), String(repeating: "0", count: 64)] {
            let isValid = links.redeem(text)
            #expect(!isValid, "\(text)")
        }
        #expect(links.redeem(secret))
    }

    @Test func oneOfManyWhoFollowALinkAtOnceGetsIn() async throws {
        let secret = try link().secret
        let links = links
        let count = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<32 { group.addTask { links.redeem(secret) } }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(count == 1)
    }

    @Test func thePageIsWhereARunningProcessServesIt() throws {
        #expect(links.url == nil)
        try links.announce("http://127.0.0.1:8080")
        #expect(links.url == "http://127.0.0.1:8080")
        links.withdraw()
        #expect(links.url == nil)
        // As it is left behind by one that was killed.
        let dead = #"{"url": "http://127.0.0.1:8080", "process": {"id": 1, "startedAt": 1, "boot": "0"}}"#
        try Data(dead.utf8).write(to: URL(filePath: folder.path("address.json")))
        #expect(links.url == nil)
    }

    @Test func aPortIsFreeUntilAProcessListensAtIt() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                #expect(bind(listener, $0, length) == 0 && listen(listener, 1) == 0)
                #expect(getsockname(listener, $0, &length) == 0)
            }
        }
        #expect(!LocalPort.isFree(UInt16(bigEndian: address.sin_port)))
    }
}
