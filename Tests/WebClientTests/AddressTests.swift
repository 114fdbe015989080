import Testing
import WebClient

/// Which addresses a stranger's URL may lead to.
struct AddressTests {
    private static let publicOnes = [
        "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
        "128.0.0.1", "169.253.255.255", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0", "198.17.0.1",
        "198.20.0.0", "223.255.255.255", "2606:4700:4700::1111", "2a00:1450:4001::1", "::ffff:8.8.8.8",
    ]
    private static let others = [
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1",
        "127.255.255.255", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1",
        "192.168.0.1", "192.168.255.255", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.7", "224.0.0.1",
        "239.255.255.255", "240.0.0.1", "255.255.255.255",
        "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1",
        "64:ff9b::7f00:1", "64:ff9b:1::1", "100::1", "2001::1", "2001:1ff::1", "2001:db8::1", "2002:7f00:1::",
        "3fff::1", "4000::1", "fc00::1", "fd12::1", "fe80::1", "fec0::1", "ff02::1",
    ]

    @Test(arguments: publicOnes) func ofTheInternet(_ text: String) throws {
        #expect(try #require(NetworkAddress(text)).isPublic)
    }

    @Test(arguments: others) func ofSomethingElse(_ text: String) throws {
        #expect(try !#require(NetworkAddress(text)).isPublic)
    }

    @Test func blocksHoldTheirAddresses() throws {
        func holds(_ block: String, _ address: String) throws -> Bool {
            try #require(AddressBlock(block)).contains(try #require(NetworkAddress(address)))
        }
        #expect(try holds("10.1.0.0/16", "10.1.255.255"))
        #expect(try !holds("10.1.0.0/16", "10.2.0.0"))
        #expect(try holds("10.1.2.128/25", "10.1.2.255"))
        #expect(try !holds("10.1.2.128/25", "10.1.2.127"))
        #expect(try holds("0.0.0.0/0", "255.255.255.255"))
        #expect(try !holds("0.0.0.0/0", "::1"))
        #expect(try holds("10.1.2.3", "10.1.2.3"))
        #expect(try holds("10.1.2.3", "::ffff:10.1.2.3"))
        #expect(try !holds("10.1.2.3", "10.1.2.4"))
        #expect(try holds("fd00::/8", "fdff::1"))
        #expect(try !holds("fd00::/8", "fe00::1"))
        #expect(
            AddressRule.publicOnly(others: [try #require(AddressBlock("127.0.0.0/8"))])
                .permits(try #require(NetworkAddress("127.0.0.1")))
        )
        #expect(!AddressRule.publicOnly().permits(try #require(NetworkAddress("127.0.0.1"))))
    }

    @Test(arguments: [
        "", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0/8", "localhost", "::/129", "1.2.3.4/8/8", "/8",
        "10.0.0.0/+8",
    ])
    func whatIsNoBlockIsRefused(_ text: String) { #expect(AddressBlock(text) == nil) }
}
