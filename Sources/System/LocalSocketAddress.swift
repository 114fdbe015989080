package import Glibc

/// The address of a socket of this machine: a path, or a name in the abstract namespace.
package struct LocalSocketAddress: Sendable {
    /// The most bytes of a path: `sun_path` also has the zero that ends it.
    package static let longestPath = 107

    private let address: sockaddr_un
    private let length: socklen_t

    /// `nil` if the path is empty or too long.
    package init?(path: String) { self.init(bytes: Array(path.utf8) + [0], isEmpty: path.isEmpty) }

    /// `nil` if the name is empty or too long. A zero stands before such a name, and none ends it.
    package init?(abstract name: String) { self.init(bytes: [0] + Array(name.utf8), isEmpty: name.isEmpty) }

    private init?(bytes: [UInt8], isEmpty: Bool) {
        guard !isEmpty, bytes.count <= Self.longestPath + 1 else { return nil }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        self.address = address
        length = socklen_t(MemoryLayout<sockaddr_un>.offset(of: \.sun_path)! + bytes.count)
    }

    /// Calls `body` with the address as `bind`, `connect` and `sendto` take it.
    package func withAddress<Result, Problem: Error>(
        _ body: (UnsafePointer<sockaddr>, socklen_t) throws(Problem) -> Result
    ) throws(Problem) -> Result {
        try withUnsafePointer(to: address) { (pointer) throws(Problem) in
            // Each kind of socket address begins like `sockaddr`, so that the calls take a pointer to any of them.
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { (pointer) throws(Problem) in
                try body(pointer, length)
            }
        }
    }
}
