import Glibc
import Testing

@testable import HTTPServer

struct ClientNetworkTests {
    private func network(_ family: Int32, at place: Int, _ address: [UInt8]) -> String {
        var bytes = [UInt8](repeating: 9, count: 24)
        bytes.replaceSubrange(place..<place + address.count, with: address)
        return ClientNetwork.text(family: family, bytes)
    }

    @Test func addressesOfOneNetworkAreOne() {
        #expect(network(AF_INET, at: 4, [10, 1, 2, 3]) == network(AF_INET, at: 4, [10, 1, 2, 200]))
        #expect(network(AF_INET, at: 4, [10, 1, 2, 3]) != network(AF_INET, at: 4, [10, 1, 3, 3]))
        let prefix: [UInt8] = [0x20, 1, 0xD, 0xB8, 0, 0, 7]
        let (one, other) = (prefix + [UInt8](repeating: 1, count: 9), prefix + [UInt8](repeating: 2, count: 9))
        #expect(network(AF_INET6, at: 8, one) == network(AF_INET6, at: 8, other))
        let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF, 10, 1, 2, 3]
        #expect(network(AF_INET6, at: 8, mapped) == network(AF_INET, at: 4, [10, 1, 2, 3]))
        #expect(network(AF_UNIX, at: 2, [47]).isEmpty)
    }
}
