import Glibc

/// The network that a client belongs to, as far as its address tells: the first 24 bits of IPv4, 56 of IPv6.
enum ClientNetwork {
    /// Empty for a socket of this machine.
    static func text(of socket: Int32) -> String {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let found = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(socket, $0, &length) }
        }
        // A client that has left already is not of this machine for that.
        guard found == 0 else { return "unknown" }
        let bytes = withUnsafeBytes(of: address) { Array($0.prefix(24)) }
        return text(family: Int32(address.ss_family), bytes)
    }

    /// `bytes`: the beginning of a `sockaddr_in` or a `sockaddr_in6`.
    static func text(family: Int32, _ bytes: [UInt8]) -> String {
        let part: ArraySlice<UInt8>
        switch family {
        case AF_INET: part = bytes[4..<7]
        case AF_INET6:
            let whole = bytes[8..<24]
            let isMapped = whole.prefix(10).allSatisfy { $0 == 0 } && whole.dropFirst(10).prefix(2) == [0xFF, 0xFF]
            part = isMapped ? whole.dropFirst(12).prefix(3) : whole.prefix(7)
        default: return ""
        }
        return part.map { String($0, radix: 16) }.joined(separator: ".")
    }
}
