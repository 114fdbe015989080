import Glibc

/// A TCP port of this machine's own address.
package enum LocalPort {
    /// Whether processes of this machine reach each other by its own address. A container without any network has none.
    static var isReachable: Bool {
        // Looks for the way there, and sends nothing. Where there is none, a process may listen all the same.
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return withAddress(port: 9) { connect(descriptor, $0, $1) == 0 }
    }

    /// Whether a process could listen at it now.
    package static func isFree(_ port: UInt16) -> Bool {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_INET, kind, 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // As the coordinator does: connections that have ended do not count.
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        return withAddress(port: port) { bind(descriptor, $0, $1) == 0 }
    }

    private static func withAddress(port: UInt16, _ call: (UnsafePointer<sockaddr>, socklen_t) -> Bool) -> Bool {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                call($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
