import Glibc

extension NetworkAddress {
    /// Reads an address as people write it.
    package init?(_ text: String) {
        var bytes = [UInt8](repeating: 0, count: text.contains(":") ? 16 : 4)
        guard inet_pton(bytes.count == 16 ? AF_INET6 : AF_INET, text, &bytes) == 1 else { return nil }
        self.init(bytes: bytes)
    }

    /// The address of a socket; `nil` if it is of another family.
    init?(_ address: UnsafePointer<sockaddr>) {
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            let address = UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in.self)
            self.init(bytes: withUnsafeBytes(of: address.sin_addr) { Array($0) })
        case AF_INET6:
            let address = UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in6.self)
            self.init(bytes: withUnsafeBytes(of: address.sin6_addr) { Array($0) })
        default: return nil
        }
    }
}

extension NetworkAddress: CustomStringConvertible {
    package var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 16 ? AF_INET6 : AF_INET
        guard inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return "?" }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
