/// The addresses that a request may connect to.
package enum AddressRule: Sendable, Hashable {
    case any
    /// Addresses of the public internet only, so that a stranger's URL reaches nothing inside; and those of `others`.
    case publicOnly(others: [AddressBlock] = [])

    package func permits(_ address: NetworkAddress) -> Bool {
        switch self {
        case .any: true
        case .publicOnly(let others): address.isPublic || others.contains { $0.contains(address) }
        }
    }
}

/// An IP address. One of version 4 that is wrapped in version 6 is taken for what it is.
package struct NetworkAddress: Sendable, Hashable {
    /// 4 or 16 bytes.
    package let bytes: [UInt8]

    /// `nil` unless there are 4 or 16 bytes.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        let wrapper: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        self.bytes = bytes.starts(with: wrapper) ? Array(bytes[12...]) : bytes
    }

    /// Whether it is one of the public internet: not of this machine, a private network, a link, a group of
    /// receivers, or a block that IANA keeps for special purposes.
    package var isPublic: Bool {
        if bytes.count == 4 { return !Self.special4.contains { $0.contains(self) } }
        return Self.global6.contains(self) && !Self.special6.contains { $0.contains(self) }
    }

    private static let special4 = [
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/3",
    ].map(block)
    private static let global6 = block("2000::/3")
    /// Among them are those that lead to addresses of version 4, which a tunnel on the way unwraps.
    private static let special6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"].map(block)

    private static func block(_ text: String) -> AddressBlock {
        guard let block = AddressBlock(text) else { preconditionFailure("\(text) is a block of addresses") }
        return block
    }
}

/// A block of addresses, as `10.0.0.0/8` or `fd00::/8`; without the length, one address.
package struct AddressBlock: Sendable, Hashable {
    private let start: NetworkAddress
    private let length: Int

    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let start = NetworkAddress(String(parts[0])) else { return nil }
        let whole = start.bytes.count * 8
        guard parts.count == 2 else {
            (self.start, length) = (start, whole)
            return
        }
        guard parts[1].allSatisfy({ $0.isASCII && $0.isNumber }), let length = Int(parts[1]), length <= whole else {
            return nil
        }
        (self.start, self.length) = (start, length)
    }

    package func contains(_ address: NetworkAddress) -> Bool {
        guard address.bytes.count == start.bytes.count else { return false }
        let (whole, rest) = (length / 8, length % 8)
        guard address.bytes[..<whole] == start.bytes[..<whole] else { return false }
        guard rest > 0 else { return true }
        let mask = UInt8(truncatingIfNeeded: 0xFF00 >> rest)
        return address.bytes[whole] & mask == start.bytes[whole] & mask
    }
}
