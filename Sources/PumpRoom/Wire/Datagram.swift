import Conversion
import Glibc
package import System

/// Whole messages, optionally with descriptors, over a pair of connected sockets that preserve message boundaries.
package enum Datagram {
    /// The largest message in either direction. It fits the default send buffer of every kernel.
    package static let byteLimit = 128 << 10
    /// A request carries at most this many, the sources and the destinations together. The kernel allows no more.
    static let descriptorLimit = 253

    package enum Sent { case sent, full, gone, refused(SystemError) }

    package enum Received {
        case message([UInt8], [SharedDescriptor])
        case nothing
        /// The other end is closed and every message that it sent has been received.
        case ended
        /// The bytes are not one of our messages; the text says why.
        case broken(String)
    }

    /// Two connected ends, both close-on-exec.
    static func pair() throws(SystemError) -> (ours: SharedDescriptor, theirs: SharedDescriptor) {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw SystemError(call: "socketpair", number: errno) }
        return (SharedDescriptor(adopting: ends[0]), SharedDescriptor(adopting: ends[1]))
    }

    /// Whether `descriptor` is an end of such a pair.
    package static func isSocket(_ descriptor: Int32) -> Bool {
        var (kind, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
        guard getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &kind, &size) == 0 else { return false }
        return kind == Int32(SOCK_SEQPACKET.rawValue)
    }

    // MARK: - Sending

    /// Sends one message. The caller keeps `descriptors`; the other end receives duplicates.
    package static func send(_ bytes: [UInt8], _ descriptors: [Int32] = [], to socket: Int32, waits: Bool) -> Sent {
        precondition(!bytes.isEmpty && bytes.count <= byteLimit && descriptors.count <= descriptorLimit)
        let flags = Int32(MSG_NOSIGNAL) | (waits ? 0 : Int32(MSG_DONTWAIT))
        var control = Control()
        let controlSize = descriptors.isEmpty ? 0 : control.fill(with: descriptors)
        let sent = bytes.withUnsafeBytes { bytes in
            // sendmsg only reads the bytes, although iovec has a mutable pointer.
            withHeader(UnsafeMutableRawBufferPointer(mutating: bytes), &control, size: controlSize) { header in
                retryingInterrupts { sendmsg(socket, &header, flags) }
            }
        }
        if sent == bytes.count { return .sent }
        switch errno {
        case EAGAIN: return .full
        case EPIPE, ECONNRESET: return .gone
        default: return .refused(SystemError(call: "sendmsg", number: errno))
        }
    }

    /// Calls `body` with a header for `bytes` and, if `size` is not 0, for `control`.
    private static func withHeader(
        _ bytes: UnsafeMutableRawBufferPointer,
        _ control: inout Control,
        size: Int,
        _ body: (inout msghdr) -> Int
    ) -> Int {
        control.withBytes { control in
            var piece = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
            return withUnsafeMutablePointer(to: &piece) { piece in
                var header = msghdr()
                header.msg_iov = piece
                header.msg_iovlen = 1
                if size > 0 {
                    header.msg_control = control.baseAddress
                    header.msg_controllen = size
                }
                return body(&header)
            }
        }
    }

    // MARK: - Receiving

    /// Receives one message into `buffer`, which must hold `byteLimit` bytes. Without `takesDescriptors` the kernel
    /// discards any descriptors, and the message counts as broken.
    package static func receive(
        from socket: Int32,
        into buffer: inout [UInt8],
        takesDescriptors: Bool,
        waits: Bool
    ) -> Received {
        var control = Control()
        var (count, flags, controlSize) = (0, Int32(0), 0)
        let wanted = Int32(MSG_CMSG_CLOEXEC) | (waits ? 0 : Int32(MSG_DONTWAIT))
        // If the peer exits with unread messages of ours, the kernel reports ECONNRESET once,
        // before the peer's last messages.
        var mayBeReset = true
        repeat {
            count = buffer.withUnsafeMutableBytes { buffer in
                withHeader(buffer, &control, size: takesDescriptors ? Control.size : 0) { header in
                    let count = retryingInterrupts { recvmsg(socket, &header, wanted) }
                    (flags, controlSize) = (header.msg_flags, Int(header.msg_controllen))
                    return count
                }
            }
            guard count < 0, errno == ECONNRESET, mayBeReset else { break }
            mayBeReset = false
        } while true
        if count < 0 {
            if errno == EAGAIN { return .nothing }
            return errno == ECONNRESET ? .ended : .broken(SystemError(call: "recvmsg", number: errno).text)
        }
        let descriptors = takesDescriptors ? control.descriptors(in: controlSize) : []
        // Our messages are never empty, so 0 bytes mean end of stream.
        if count == 0 { return .ended }
        if flags & Int32(MSG_CTRUNC) != 0 { return .broken("unexpected or truncated descriptors") }
        if flags & Int32(MSG_TRUNC) != 0 { return .broken("a message longer than \(byteLimit) bytes") }
        return .message(Array(buffer[..<count]), descriptors)
    }
}

/// Space for the control message that carries descriptors. The layout follows CMSG_SPACE and CMSG_LEN, which Swift
/// cannot import because they are macros.
private struct Control {
    private static let headerSize = MemoryLayout<cmsghdr>.size
    private static let itemSize = MemoryLayout<Int32>.size
    /// Control messages are padded to whole words.
    static let size = {
        let word = MemoryLayout<Int>.size
        return (headerSize + Datagram.descriptorLimit * itemSize + word - 1) / word * word
    }()

    private var words = [Int](repeating: 0, count: Self.size / MemoryLayout<Int>.size)

    mutating func withBytes<Result>(_ body: (UnsafeMutableRawBufferPointer) -> Result) -> Result {
        words.withUnsafeMutableBytes(body)
    }

    /// Writes `descriptors` and returns the size of the control message in bytes.
    mutating func fill(with descriptors: [Int32]) -> Int {
        var header = cmsghdr()
        header.cmsg_len = Self.headerSize + descriptors.count * Self.itemSize
        header.cmsg_level = SOL_SOCKET
        header.cmsg_type = Int32(SCM_RIGHTS)
        withBytes { bytes in
            bytes.storeBytes(of: header, as: cmsghdr.self)
            for (place, descriptor) in descriptors.enumerated() {
                bytes.storeBytes(of: descriptor, toByteOffset: Self.headerSize + place * Self.itemSize, as: Int32.self)
            }
        }
        let word = MemoryLayout<Int>.size
        return (Int(header.cmsg_len) + word - 1) / word * word
    }

    /// The descriptors in the first `size` bytes. The caller now owns them.
    mutating func descriptors(in size: Int) -> [SharedDescriptor] {
        withBytes { bytes in
            guard size >= Self.headerSize else { return [] }
            let header = bytes.load(as: cmsghdr.self)
            guard header.cmsg_level == SOL_SOCKET, header.cmsg_type == Int32(SCM_RIGHTS) else { return [] }
            let end = min(Int(header.cmsg_len), size)
            return stride(from: Self.headerSize, through: end - Self.itemSize, by: Self.itemSize).map {
                SharedDescriptor(adopting: bytes.load(fromByteOffset: $0, as: Int32.self))
            }
        }
    }
}
