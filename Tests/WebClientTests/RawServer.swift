import Foundation
import Synchronization
import TestSupport

/// A server on a port of this machine that answers each connection with the bytes that a test gives it.
final class RawServer: Sendable {
    /// What to do once a request has come whole.
    enum Answer: Sendable {
        case bytes(String)
        /// The bytes again and again, until the client has enough.
        case endless(String, then: String)
        case silence
        case close
    }

    let port: UInt16
    private let listener: Int32
    private let heard = Mutex<[String]>([])
    private let answers: Mutex<[Answer]>
    private let connections = Mutex(0)

    /// Gives the answers in turn, whichever connection asks; the last one for good.
    init(_ answers: Answer...) throws {
        self.answers = Mutex(answers)
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, size) == 0 && listen(listener, 16) == 0
                    && getsockname(listener, address, &size) == 0
            }
        }
        guard bound else { throw SupportError("listen", errno: errno) }
        self.listener = listener
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { [self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                connections.withLock { $0 += 1 }
                Thread.detachNewThread { self.serve(connection) }
            }
        }
    }

    /// Ends the server.
    func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

    var url: String { "http://127.0.0.1:\(port)/" }
    /// The requests so far, with their bodies.
    var requests: [String] { heard.withLock { $0 } }
    var connectionCount: Int { connections.withLock { $0 } }

    private func serve(_ connection: Int32) {
        defer { close(connection) }
        while let request = Self.request(from: connection) {
            heard.withLock { $0.append(request) }
            let answer = answers.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
            switch answer {
            case .bytes(let text): Self.write(text, to: connection)
            case .endless(let piece, let then):
                Self.write(piece, to: connection)
                while Self.write(then, to: connection) {}
            case .silence:
                var scratch: UInt8 = 0
                _ = read(connection, &scratch, 1)
                return
            case .close: return
            }
        }
    }

    @discardableResult private static func write(_ text: String, to connection: Int32) -> Bool {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes {
                send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            bytes = bytes.dropFirst(count)
        }
        return true
    }

    private static func request(from connection: Int32) -> String? {
        var (text, scratch) = ("", [UInt8](repeating: 0, count: 65_536))
        while true {
            if let head = text.range(of: "\r\n\r\n") {
                let length = text.range(of: #"(?<=Content-Length: )\d+"#, options: .regularExpression)
                let wanted = length.flatMap { Int(text[$0]) } ?? 0
                if text[head.upperBound...].utf8.count >= wanted { return text }
            }
            let count = read(connection, &scratch, scratch.count)
            guard count > 0 else { return nil }
            text += String(decoding: scratch[..<count], as: UTF8.self)
        }
    }
}
