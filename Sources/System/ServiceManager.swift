import Glibc

/// The service manager that started this process: systemd, or another that reads the same messages.
///
/// The protocol is that of sd_notify(3): datagrams of `NAME=VALUE` lines to the socket that NOTIFY_SOCKET names.
package struct ServiceManager: Sendable {
    private let address: sockaddr_un
    private let length: socklen_t
    /// How often the manager expects a sign of life at the latest; `nil` if it expects none.
    package let watchdogInterval: Duration?

    /// `nil` if `environment` names no socket: nothing listens to what the process says.
    package init?(environment: [String: String]) {
        guard let name = environment["NOTIFY_SOCKET"], let first = name.utf8.first,
            first == UInt8(ascii: "/") || first == UInt8(ascii: "@")
        else { return nil }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // A name that begins with @ is in the abstract namespace: its first byte is zero, and no zero ends it.
        var bytes = Array(name.utf8)
        if first == UInt8(ascii: "@") { bytes[0] = 0 } else { bytes.append(0) }
        guard bytes.count <= MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        self.address = address
        length = socklen_t(MemoryLayout<sockaddr_un>.offset(of: \.sun_path)! + bytes.count)
        watchdogInterval = Self.watchdogInterval(environment)
    }

    /// WATCHDOG_PID restricts the watchdog to one process, which need not be this one.
    private static func watchdogInterval(_ environment: [String: String]) -> Duration? {
        if let process = environment["WATCHDOG_PID"], process != "\(getpid())" { return nil }
        guard let microseconds = environment["WATCHDOG_USEC"].flatMap(Int64.init), microseconds > 0 else { return nil }
        return .microseconds(microseconds)
    }

    /// Sends the lines in one message. Never waits for the manager.
    ///
    /// Returns the error number if the message could not be sent, and `nil` if it was.
    @discardableResult
    package func tell(_ lines: [String]) -> Int32? {
        let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let socket = socket(AF_UNIX, kind, 0)
        guard socket >= 0 else { return errno }
        defer { close(socket) }
        // A line break in a value would begin another line.
        let text = lines.map { $0.split(whereSeparator: \.isNewline).joined(separator: " ") }.joined(separator: "\n")
        let bytes = Array(text.utf8)
        let sent = withUnsafePointer(to: address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                sendto(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL), address, length)
            }
        }
        return sent == bytes.count ? nil : errno
    }
}
