import Synchronization
import WebClient

/// Open connections that wait for the next request; each call borrows one.
final class ConnectionPool: Sendable {
    /// `@unchecked Sendable`: a connection is either idle, and then only in the list of the pool, or used by one call. So no
    /// two threads use it at a time.
    final class Connection: @unchecked Sendable {
        let web: WebConnection
        fileprivate init(_ web: WebConnection) { self.web = web }
    }

    private let idle = Mutex<[Connection]>([])
    private static let mostIdle = 32

    func borrow() throws(WebError) -> Connection {
        if let found = idle.withLock({ $0.popLast() }) { return found }
        return Connection(try WebConnection())
    }

    /// Only after an exchange that went well: otherwise the connection is dropped with whatever is on it.
    func giveBack(_ connection: Connection) {
        idle.withLock { idle in
            if idle.count < Self.mostIdle { idle.append(connection) }
        }
    }
}
