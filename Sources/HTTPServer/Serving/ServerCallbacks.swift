import CMicroHTTPD
import Glibc
import System

/// The functions that the library calls, all on the server's thread, inside `MHD_run`.
enum ServerCallbacks {
    private static func loop(_ context: UnsafeMutableRawPointer?) -> ServerLoop {
        Unmanaged<ServerLoop>.fromOpaque(context!).takeUnretainedValue()
    }

    /// A request line has arrived. What it returns is the request's own pointer from then on.
    static let begin:
        @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?, OpaquePointer?) -> UnsafeMutableRawPointer? = {
            context,
            target,
            _ in
            let target = target.map { String(cString: $0) } ?? ""
            return Unmanaged.passRetained(loop(context).begin(target)).toOpaque()
        }

    /// A request is over, whatever became of it.
    static let complete:
        @convention(c) (
            UnsafeMutableRawPointer?, OpaquePointer?, UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
            MHD_RequestTerminationCode
        ) -> Void = { context, connection, place, _ in
            guard let place, let pointer = place.pointee else { return }
            place.pointee = nil
            let loop = loop(context)
            loop.end(Unmanaged<Exchange>.fromOpaque(pointer).takeRetainedValue())
            loop.visitor(connection)?.deadline = .now + loop.limits.patience
        }

    /// A connection begins or ends.
    static let visit:
        @convention(c) (
            UnsafeMutableRawPointer?, OpaquePointer?, UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
            MHD_ConnectionNotificationCode
        ) -> Void = { context, connection, _, event in
            let loop = loop(context)
            let socket = sluice_connection_socket(connection)
            if event == .CONNECTION_NOTIFY_STARTED {
                let deadline = ContinuousClock.now + loop.limits.patience
                loop.add(Visitor(socket: socket, deadline: deadline, refusal: loop.refusal(of: socket)))
            } else {
                loop.remove(socket)
            }
        }

    /// Called for the header, for each piece of the body, for its end, and again whenever the connection is resumed.
    static let handle:
        @convention(c) (
            UnsafeMutableRawPointer?, OpaquePointer?, UnsafePointer<CChar>?, UnsafePointer<CChar>?,
            UnsafePointer<CChar>?, UnsafePointer<CChar>?, UnsafeMutablePointer<Int>?,
            UnsafeMutablePointer<UnsafeMutableRawPointer?>?
        ) -> MHD_Result = { context, connection, _, method, version, data, size, place in
            guard let connection, let size, let pointer = place?.pointee else { return .NO }
            let loop = loop(context)
            let exchange = Unmanaged<Exchange>.fromOpaque(pointer).takeUnretainedValue()
            exchange.connection = connection
            if case .new = exchange.phase {
                loop.visitor(connection)?.deadline = nil
                let fields = fields(of: connection)
                var raw = RequestGuard.Raw(
                    version: version.map { String(cString: $0) } ?? "",
                    method: method.map { String(cString: $0) } ?? "",
                    target: exchange.target,
                    fields: fields.map { (bytes($0.name), bytes($0.value)) }
                )
                if repairsLines, let method, let version {
                    let count = sluice_header_size(connection)
                    let header = UnsafeRawBufferPointer(start: method, count: count)
                    raw.layout = HeaderLayout(
                        method: part(bytes(method)),
                        targetCount: exchange.target.utf8.count,
                        version: part(bytes(version)),
                        fields: fields.map { (part($0.name), part($0.value)) },
                        byteCount: count,
                        tail: Array(header.suffix(4))
                    )
                }
                return loop.receive(exchange, raw)
            }
            if size.pointee > 0, let data {
                return loop.receive(exchange, UnsafeRawBufferPointer(start: data, count: size.pointee)) {
                    size.pointee = 0
                }
            }
            return loop.advance(exchange)
        }

    /// Whether the library ends lines at LF alone and values at a zero byte. Version 1 refuses both.
    private static let repairsLines = MHD_get_version().map { String(cString: $0).hasPrefix("0.") } ?? false

    private typealias Field = (name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)

    /// The fields of the header as they were sent, in the memory of the connection.
    private static func fields(of connection: OpaquePointer) -> [Field] {
        var found: [Field] = []
        withUnsafeMutablePointer(to: &found) { found in
            let add: MHD_KeyValueIteratorN = { context, _, name, nameSize, value, valueSize in
                let name = UnsafeRawBufferPointer(start: name, count: name == nil ? 0 : nameSize)
                let value = UnsafeRawBufferPointer(start: value, count: value == nil ? 0 : valueSize)
                context!.assumingMemoryBound(to: [Field].self).pointee.append((name, value))
                return .YES
            }
            MHD_get_connection_values_n(connection, .HEADER_KIND, add, found)
        }
        return found
    }

    private static func bytes(_ text: UnsafePointer<CChar>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: text, count: strlen(text))
    }

    private static func bytes(_ part: UnsafeRawBufferPointer) -> [UInt8] { Array(part) }

    private static func part(_ bytes: UnsafeRawBufferPointer) -> HeaderLayout.Part {
        .init(start: Int(bitPattern: bytes.baseAddress), count: bytes.count)
    }
}

extension ServerLoop {
    func visitor(_ connection: OpaquePointer?) -> Visitor? {
        connection.flatMap { visitor(at: sluice_connection_socket($0)) }
    }
}
