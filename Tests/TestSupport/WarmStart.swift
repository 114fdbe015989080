import CSystem
import Foundation
import Synchronization

/// A program that stays loaded and forks for each start, because loading its libraries takes longer than its work.
///
/// `Tests/Programs/WarmStart` says how. Programs other than tests, which are not beside that library, do without.
package final class WarmStart: Sendable {
    private static let known = Mutex<[String: WarmStart]>([:])

    private let name: String
    /// The socket to the server, open while this process lives; `nil` if there is no server.
    private let server: Int32?

    /// The server of the program `name`, started at the first call.
    static func of(_ name: String) throws -> WarmStart {
        try known.withLock { known in
            if let found = known[name] { return found }
            let made = try WarmStart(name)
            known[name] = made
            return made
        }
    }

    /// Whether the file is for an interpreter. A program that is found on PATH is none.
    private static func isScript(_ name: String) -> Bool {
        guard name.hasPrefix("/"), let file = FileHandle(forReadingAtPath: name) else { return false }
        return file.readData(ofLength: 2) == Data("#!".utf8)
    }

    private init(_ name: String) throws {
        self.name = name
        // Of a script only its interpreter would stay loaded, and would take the script's arguments for its own.
        guard !Self.isScript(name), let library = BuiltProgram.besideTests("libwarm-start.so") else {
            server = nil
            return
        }
        var environment = ProcessInfo.processInfo.environment
        environment["LD_PRELOAD"] = library
        let (ours, theirs) = try Self.sockets()
        defer { close(theirs) }
        // It reads its requests from its standard input, and ends with the last process that could send one.
        _ = try ChildProcess.spawn(
            name,
            [],
            environment: environment,
            folder: nil,
            input: theirs,
            output: STDERR_FILENO,
            errors: STDERR_FILENO
        )
        server = ours
    }

    private static func sockets() throws -> (Int32, Int32) {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw SupportError("open a socket", errno: errno) }
        return (ends[0], ends[1])
    }

    /// Starts the program; `nil` if it has to be started as usual. Without an `environment` it has that of the server.
    func spawn(
        _ arguments: [String],
        _ folder: String?,
        _ environment: [String: String]?,
        _ streams: (input: Int32?, output: Int32, errors: Int32)
    ) throws -> ChildProcess? {
        let variables = (environment ?? [:]).map { "\($0.key)=\($0.value)" }
        let words = [folder ?? "", "\(arguments.count + 1)", name] + arguments + variables
        let message = words.flatMap { word -> [UInt8] in word.utf8 + [0] }
        guard let server, message.count <= Self.longestMessage else { return nil }
        let (ours, theirs) = try Self.sockets()
        let reply = Reply(ours)
        let empty = streams.input == nil ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1
        defer { if empty >= 0 { close(empty) } }
        let sent = Self.send(message, [streams.input ?? empty, streams.output, streams.errors, theirs], to: server)
        let problem = errno
        close(theirs)
        guard sent else { throw SupportError("ask for a start of a loaded program", errno: problem) }
        guard let id = reply.next(until: nil) else {
            throw SupportError("start a loaded program", "its server did not start it")
        }
        return ChildProcess(id: id, server: reply)
    }

    /// Messages of a socket have a limit, and so have those of the server.
    private static let longestMessage = 100_000

    private static func send(_ message: [UInt8], _ descriptors: [Int32], to socket: Int32) -> Bool {
        // A header of two words, as the kernel aligns it, then the descriptors.
        let header = MemoryLayout<cmsghdr>.size
        let size = header + descriptors.count * MemoryLayout<Int32>.size
        return withUnsafeTemporaryAllocation(byteCount: size, alignment: MemoryLayout<cmsghdr>.alignment) { control in
            var facts = cmsghdr()
            facts.cmsg_len = size
            facts.cmsg_level = SOL_SOCKET
            facts.cmsg_type = Int32(SCM_RIGHTS)
            control.storeBytes(of: facts, as: cmsghdr.self)
            let rest = UnsafeMutableRawBufferPointer(rebasing: control[header...])
            descriptors.withUnsafeBytes { rest.copyMemory(from: $0) }
            return message.withUnsafeBytes { bytes in
                // sendmsg only reads the bytes, although iovec has a mutable pointer.
                var part = iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
                return withUnsafeMutablePointer(to: &part) { part in
                    var whole = msghdr()
                    whole.msg_iov = part
                    whole.msg_iovlen = 1
                    whole.msg_control = control.baseAddress
                    whole.msg_controllen = size
                    while true {
                        if sendmsg(socket, &whole, Int32(MSG_NOSIGNAL)) >= 0 { return true }
                        guard errno == EINTR else { return false }
                    }
                }
            }
        }
    }

    /// What the server tells of one child: its process number, then its wait status.
    final class Reply: Sendable {
        private let socket: Int32

        init(_ socket: Int32) { self.socket = socket }

        deinit { close(socket) }

        /// The child's wait status, or `nil` if the deadline passes first.
        func status(until deadline: ContinuousClock.Instant?) -> Int32? {
            let status = next(until: deadline)
            if status == nil, ChildProcess.milliseconds(until: deadline) != 0 {
                // Without a status no test can tell how its program ended.
                preconditionFailure("the server of a loaded program has ended before the program")
            }
            return status
        }

        /// The next number, or `nil` if the deadline passes or the server ends first.
        func next(until deadline: ContinuousClock.Instant?) -> Int32? {
            var number: Int32 = 0
            while true {
                var waited = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
                let answer = poll(&waited, 1, ChildProcess.milliseconds(until: deadline))
                if answer == 0 { return nil }
                if answer < 0 { continue }  // EINTR: poll has no other error for this
                let count = recv(socket, &number, MemoryLayout<Int32>.size, 0)
                if count == MemoryLayout<Int32>.size { return number }
                if count < 0, errno == EINTR { continue }
                return nil
            }
        }
    }
}
