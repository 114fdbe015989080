import Glibc

/// Tells which user's process has the other end of a TCP connection within this machine.
///
/// It asks the kernel (NETLINK_SOCK_DIAG) for one socket, whatever the number of sockets. Where the kernel does not answer,
/// it reads the tables in /proc/net. Not for use by several threads at once.
package final class LocalPeers {
    private let netlink: SharedDescriptor?
    private var lastNumber: UInt32 = 0
    /// Whether the kernel has ever found a socket. From then on, one that it does not find is none of this machine's.
    private var hasAnswered = false

    /// `asksKernel`: false reads the tables at once.
    package init(asksKernel: Bool = true) {
        // Protocol 4: NETLINK_SOCK_DIAG, which Swift's Glibc module lacks.
        let number = asksKernel ? socket(AF_NETLINK, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 4) : -1
        netlink = number < 0 ? nil : SharedDescriptor(adopting: number)
    }

    /// The user whose process holds the other end of the connection; `nil` if no process of this machine holds it, or no
    /// longer, or the system does not tell.
    package func user(of connection: Int32) -> UInt32? {
        guard let ends = Ends(of: connection) else { return nil }
        if let user = askKernel(ends) { return user }
        return hasAnswered ? nil : readTables(ends)
    }

    /// The two ends of a connection, as its other end sees them.
    private struct Ends {
        let family: UInt8
        /// Of four or sixteen bytes, in the order of the network.
        let own: [UInt8]
        let ownPort: [UInt8]
        let other: [UInt8]
        let otherPort: [UInt8]

        init?(of connection: Int32) {
            guard let here = Self.address(connection, getsockname), let there = Self.address(connection, getpeername),
                here.family == there.family
            else { return nil }
            family = here.family
            (own, ownPort) = (there.bytes, there.port)
            (other, otherPort) = (here.bytes, here.port)
        }

        private static func address(
            _ connection: Int32,
            _ call: (Int32, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?) -> Int32
        ) -> (family: UInt8, bytes: [UInt8], port: [UInt8])? {
            var address = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let result = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { call(connection, $0, &length) }
            }
            guard result == 0 else { return nil }
            // The beginning of a `sockaddr_in` or a `sockaddr_in6`.
            let bytes = withUnsafeBytes(of: address) { Array($0.prefix(24)) }
            switch Int32(address.ss_family) {
            case AF_INET: return (UInt8(AF_INET), Array(bytes[4..<8]), Array(bytes[2..<4]))
            case AF_INET6: return (UInt8(AF_INET6), Array(bytes[8..<24]), Array(bytes[2..<4]))
            default: return nil
            }
        }
    }

    /// Whether a process can still use a socket in this state: ESTABLISHED, FIN_WAIT1, FIN_WAIT2 or CLOSE_WAIT.
    ///
    /// A socket without a process has no inode, and the user 0.
    private static func isHeld(state: UInt8, inode: UInt64) -> Bool { [1, 4, 5, 8].contains(state) && inode != 0 }

    // MARK: - Asking the kernel

    private func askKernel(_ ends: Ends) -> UInt32? {
        guard let number = netlink?.number else { return nil }
        lastNumber &+= 1
        let request = Self.request(ends, number: lastNumber)
        guard retryingInterrupts({ send(number, request, request.count, 0) }) == request.count else { return nil }
        // The kernel has answered by the time `send` returns.
        while let answer = Self.receive(from: number) {
            // Number 20: SOCK_DIAG_BY_FAMILY. Another is an error.
            guard Self.whole(answer, at: 8) == lastNumber else { continue }
            guard answer.count >= 88, answer[4] | answer[5] == 20 else { return nil }
            hasAnswered = true
            // Instead of a connection that it does not find, the kernel takes a socket that listens at its port.
            guard Array(answer[20..<24]) == ends.ownPort + ends.otherPort,
                Self.isHeld(state: answer[17], inode: UInt64(Self.whole(answer, at: 84)))
            else { return nil }
            return Self.whole(answer, at: 80)
        }
        return nil
    }

    /// A `nlmsghdr` with an `inet_diag_req_v2` (linux/inet_diag.h).
    private static func request(_ ends: Ends, number: UInt32) -> [UInt8] {
        func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] { withUnsafeBytes(of: number) { Array($0) } }
        func padded(_ address: [UInt8]) -> [UInt8] { address + [UInt8](repeating: 0, count: 16 - address.count) }
        // Length, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, number, the kernel as receiver.
        var request = bytes(UInt32(72)) + bytes(UInt16(20)) + bytes(UInt16(1))
        request += bytes(number) + bytes(UInt32(0))
        // The protocol, and all states.
        request += [ends.family, UInt8(IPPROTO_TCP), 0, 0] + bytes(UInt32.max)
        request += ends.ownPort + ends.otherPort
        request += padded(ends.own) + padded(ends.other)
        // Any interface, and no cookie.
        return request + bytes(UInt32(0)) + bytes(UInt64.max)
    }

    /// The next message of the kernel; `nil` if there is none.
    private static func receive(from netlink: Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 1_024)
        var sender = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let count = withUnsafeMutablePointer(to: &sender) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                retryingInterrupts { recvfrom(netlink, &bytes, bytes.count, Int32(MSG_DONTWAIT), pointer, &length) }
            }
        }
        // The number in a `sockaddr_nl` is that of a process, and 0 for the kernel.
        let process = withUnsafeBytes(of: sender) { $0.loadUnaligned(fromByteOffset: 4, as: UInt32.self) }
        return count >= 16 && process == 0 ? Array(bytes.prefix(count)) : nil
    }

    private static func whole(_ bytes: [UInt8], at place: Int) -> UInt32 {
        bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: place, as: UInt32.self) }
    }

    // MARK: - Reading tables

    /// Rows that are read of a table, so that a machine with many connections holds up no request for long.
    private static let mostRows = 20_000

    private func readTables(_ ends: Ends) -> UInt32? {
        // A socket for IPv6 has a connection over IPv4 under such addresses.
        let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
        guard ends.own.count == 4 || ends.own.starts(with: mapped) else {
            return Self.user(ends.own, ends.other, ends, in: "/proc/net/tcp6")
        }
        let (own, other) = (Array(ends.own.suffix(4)), Array(ends.other.suffix(4)))
        return Self.user(own, other, ends, in: "/proc/net/tcp")
            ?? Self.user(mapped + own, mapped + other, ends, in: "/proc/net/tcp6")
    }

    private static func user(_ own: [UInt8], _ other: [UInt8], _ ends: Ends, in table: String) -> UInt32? {
        guard let file = fopen(table, "re") else { return nil }
        defer { fclose(file) }
        let wanted = " \(text(own, ends.ownPort)) \(text(other, ends.otherPort)) "
        var line = [CChar](repeating: 0, count: 512)
        for _ in 0..<mostRows {
            guard fgets(&line, Int32(line.count), file) != nil else { return nil }
            guard strstr(line, wanted) != nil else { continue }
            let row = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            // Number, both ends, state, queues, timer, retries, user, time-outs, inode.
            let fields = row.split(separator: " ")
            guard fields.count > 9, let state = UInt8(fields[3], radix: 16), let inode = UInt64(fields[9]),
                isHeld(state: state, inode: inode)
            else { continue }
            return UInt32(fields[7])
        }
        return nil
    }

    /// `0100007F:1F90`: the words of an address in the machine's own order, and a port.
    private static func text(_ address: [UInt8], _ port: [UInt8]) -> String {
        func digits(_ number: UInt32, _ count: Int) -> String {
            let text = String(number, radix: 16, uppercase: true)
            return String(repeating: "0", count: count - text.count) + text
        }
        let words = stride(from: 0, to: address.count, by: 4).map { digits(whole(address, at: $0), 8) }
        return words.joined() + ":" + digits(UInt32(port[0]) << 8 | UInt32(port[1]), 4)
    }
}
