import CLibPQ
import Dispatch

/// Owns a libpq connection. The last reference closes it.
final class Link {
    let pointer: OpaquePointer
    /// The server's warnings that were not taken yet. Notices of lower severity are dropped.
    fileprivate(set) var warnings: [String] = []

    private static let mostWarnings = 100

    /// Takes ownership of `pointer`. From then on libpq prints none of the server's messages.
    init(adopting pointer: OpaquePointer) {
        self.pointer = pointer
        // Unretained is safe: the link lives as long as libpq's connection.
        PQsetNoticeReceiver(pointer, Self.receiveNotice, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { PQfinish(pointer) }

    private static let receiveNotice: PQnoticeReceiver = { place, report in
        guard let place, let report, let severity = PQresultErrorField(report, Int32(UInt8(ascii: "V"))),
            String(cString: severity) == "WARNING", let text = PQresultErrorField(report, Int32(UInt8(ascii: "M")))
        else { return }
        let link = Unmanaged<Link>.fromOpaque(place).takeUnretainedValue()
        let hint = PQresultErrorField(report, Int32(UInt8(ascii: "H"))).map { "; " + String(cString: $0) } ?? ""
        guard link.warnings.count < mostWarnings else { return }
        link.warnings.append(String(cString: text) + hint)
    }

    /// The warnings since they were last taken.
    func takeWarnings() -> [String] {
        defer { warnings = [] }
        return warnings
    }

    /// libpq's last message about this connection.
    var message: String { String(cString: PQerrorMessage(pointer)) }

    var isBroken: Bool { PQstatus(pointer) == CONNECTION_BAD }

    /// Whether a statement sent now would run in its own transaction.
    var isOutsideTransaction: Bool { PQtransactionStatus(pointer) == PQTRANS_IDLE }

    /// Asks the server, over a separate connection, to cancel the running statement. False if that is not possible.
    ///
    /// Before version 17, libpq sends such a request unencrypted whatever `sslmode` says, so none is sent over TLS.
    func requestCancel() -> Bool {
        guard PQsslInUse(pointer) == 0, let request = PQgetCancel(pointer) else { return false }
        let owned = CancelRequest(adopting: request)
        // Sending blocks for as long as the network takes.
        Link.cancelling.async { owned.send() }
        return true
    }

    private static let cancelling = DispatchQueue(label: "sluice.ledger.cancel", attributes: .concurrent)
}

/// A request to cancel a statement, independent of its connection.
///
/// `@unchecked Sendable`: libpq never changes the request once it exists, and allows its use on any thread. Only
/// `send` reads it.
private final class CancelRequest: @unchecked Sendable {
    private let pointer: OpaquePointer

    init(adopting pointer: OpaquePointer) { self.pointer = pointer }

    deinit { PQfreeCancel(pointer) }

    func send() {
        var message = [CChar](repeating: 0, count: 256)
        // If the request does not arrive, the caller's own time limit ends the statement.
        _ = PQcancel(pointer, &message, Int32(message.count))
    }
}

/// One answer of the server. The last reference frees it.
final class Answer {
    let pointer: OpaquePointer

    /// Takes ownership of `pointer`.
    init(adopting pointer: OpaquePointer) { self.pointer = pointer }

    deinit { PQclear(pointer) }

    var status: ExecStatusType { PQresultStatus(pointer) }

    var rowCount: Int { Int(PQntuples(pointer)) }

    /// The command tag: `COMMIT`, `UPDATE 3`.
    var tag: String { String(cString: PQcmdStatus(pointer)) }

    /// How many rows the statement changed or returned.
    var affectedRows: Int { Int(String(cString: PQcmdTuples(pointer))) ?? 0 }

    /// One field of an error report.
    func field(_ code: Int32) -> String? { PQresultErrorField(pointer, code).map { String(cString: $0) } }

    /// The columns by name. Of several columns with the same name, the first.
    private(set) lazy var columns: [String: Int] = {
        let names = (0..<PQnfields(pointer)).map { String(cString: PQfname(pointer, $0)) }
        return Dictionary(zip(names, names.indices)) { first, _ in first }
    }()
}
