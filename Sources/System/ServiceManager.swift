import Glibc

/// The service manager that started this process: systemd, or another that reads the same messages.
///
/// The protocol is that of sd_notify(3): datagrams of `NAME=VALUE` lines to the socket that NOTIFY_SOCKET names.
package struct ServiceManager: Sendable {
    private let address: LocalSocketAddress
    /// How often the manager expects a sign of life at the latest; `nil` if it expects none.
    package let watchdogInterval: Duration?

    /// `nil` if `environment` names no socket: nothing listens to what the process says.
    package init?(environment: [String: String]) {
        guard let name = environment["NOTIFY_SOCKET"] else { return nil }
        let found: LocalSocketAddress? =
            switch name.utf8.first {
            case UInt8(ascii: "/"): LocalSocketAddress(path: name)
            // In the abstract namespace.
            case UInt8(ascii: "@"): LocalSocketAddress(abstract: String(name.dropFirst()))
            default: nil
            }
        guard let found else { return nil }
        address = found
        watchdogInterval = Self.watchdogInterval(environment)
    }

    /// WATCHDOG_PID restricts the watchdog to one process, which need not be this one.
    private static func watchdogInterval(_ environment: [String: String]) -> Duration? {
        if let process = environment["WATCHDOG_PID"], process != "\(getpid())" { return nil }
        guard let microseconds = environment["WATCHDOG_USEC"].flatMap(Int64.init), microseconds > 0 else { return nil }
        return .microseconds(microseconds)
    }

    /// The number of sockets that the manager has handed over, by the protocol of sd_listen_fds(3): descriptors from 3 on,
    /// for the process that LISTEN_PID names.
    package static func socketCount(_ environment: [String: String]) -> Int32 {
        guard environment["LISTEN_PID"] == "\(getpid())", let count = environment["LISTEN_FDS"].flatMap({ Int32($0) }),
            (1...64).contains(count)
        else { return 0 }
        return count
    }

    /// Sends the lines in one message. Never waits for the manager.
    ///
    /// Returns the error number if the message could not be sent, and `nil` if it was.
    @discardableResult
    package func notify(_ lines: [String]) -> Int32? {
        let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let socket = socket(AF_UNIX, kind, 0)
        guard socket >= 0 else { return errno }
        defer { close(socket) }
        // A line break in a value would begin another line.
        let text = lines.map { $0.split(whereSeparator: \.isNewline).joined(separator: " ") }.joined(separator: "\n")
        let bytes = Array(text.utf8)
        let sent = address.withAddress { sendto(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, $1) }
        return sent == bytes.count ? nil : errno
    }
}
