import Foundation
import TestSupport

/// A listening socket that no room must ever connect to.
final class Listener: Sendable {
    let port: Int
    private let descriptor: Int32

    private init(_ descriptor: Int32, port: Int) { (self.descriptor, self.port) = (descriptor, port) }
    deinit { close(descriptor) }

    var wasCalled: Bool {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&waiting, 1, 0) != 0
    }

    static func tcp() throws -> Listener {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let descriptor = try listening(AF_INET, &address)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutableBytes(of: &address) {
            getsockname(descriptor, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), &size)
        }
        return Listener(descriptor, port: Int(UInt16(bigEndian: address.sin_port)))
    }

    static func unix(_ path: String) throws -> Listener {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        let listener = Listener(try listening(AF_UNIX, &address), port: 0)
        chmod(path, 0o777)
        return listener
    }

    private static func listening<Address>(_ family: Int32, _ address: inout Address) throws -> Int32 {
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue), 0)
        let size = socklen_t(MemoryLayout<Address>.size)
        let isBound = withUnsafeBytes(of: &address) {
            bind(descriptor, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), size) == 0
        }
        guard isBound, listen(descriptor, 8) == 0 else { throw SupportError("listen", errno: errno) }
        return descriptor
    }
}
