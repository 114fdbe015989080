import Glibc
import System
import TestSupport
import Testing

/// Messages arrive at the address that a path or a name makes.
struct LocalSocketAddressTests {
    @Test func theLongestPathIsAnAddress() throws {
        let folder = try TemporaryFolder.create()
        let room = LocalSocketAddress.longestPath - folder.path.utf8.count - 1
        let name = String(repeating: "s", count: room)
        try exchange(try #require(LocalSocketAddress(path: folder.path(name))))
        #expect(try folder.names() == [name])
        #expect(LocalSocketAddress(path: folder.path(name + "s")) == nil)
        #expect(LocalSocketAddress(path: "") == nil)
    }

    @Test func aNameNeedsNoFile() throws {
        let name = "sluice-test-\(getpid())"
        try exchange(try #require(LocalSocketAddress(abstract: name)))
        let longest = name.padding(to: LocalSocketAddress.longestPath)
        try exchange(try #require(LocalSocketAddress(abstract: longest)))
        #expect(LocalSocketAddress(abstract: longest + "s") == nil)
        #expect(LocalSocketAddress(abstract: "") == nil)
    }

    private func exchange(_ address: LocalSocketAddress) throws {
        let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let (receiver, sender) = (socket(AF_UNIX, kind, 0), socket(AF_UNIX, kind, 0))
        defer {
            close(receiver)
            close(sender)
        }
        try #require(address.withAddress { bind(receiver, $0, $1) } == 0)
        try #require(address.withAddress { sendto(sender, "word", 4, 0, $0, $1) } == 4)
        var bytes = [UInt8](repeating: 0, count: 8)
        #expect(recv(receiver, &bytes, bytes.count, Int32(MSG_DONTWAIT)) == 4)
        #expect(bytes.prefix(4) == ArraySlice("word".utf8))
    }
}

extension String {
    fileprivate func padding(to count: Int) -> String { self + String(repeating: "s", count: count - utf8.count) }
}
